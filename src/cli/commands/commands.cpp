#include "cli/commands/commands.h"

namespace doclock::cli {
namespace {

constexpr OpenMode kCreates = OpenMode::kAsTheUrlSays;
constexpr OpenMode kExisting = OpenMode::kExisting;

}  // namespace

const std::array<Command, 18> kCommands{{
    {"run", "Hold a lock while a command runs:\nrun [OPTIONS] NAME -- COMMAND [ARGUMENTS]",
     kCreates, AddRun},
    {"get", "Print a document", kExisting, AddGet},
    {"put", "Create a document; or lock it, replace it and unlock it in one write", kCreates,
     AddPut},
    {"edit", "Lock a document while you edit it", kExisting, AddEdit},
    {"delete", "Lock a document and delete it", kExisting, AddDelete},
    {"collections", "Show the names of the collections", kExisting, AddCollections},
    {"list", "Show the documents of a collection", kExisting, AddList},
    {"export", "Write documents as lines of JSON", kExisting, AddExport},
    {"import", "Create or replace documents, each under its lock, from lines of JSON", kCreates,
     AddImport},
    {"outbox", "Show how many messages of an outbox wait, and the parked ones; retry or drop them",
     kExisting, AddOutbox},
    {"work", "Show how many documents of workers are due, and which are parked; retry or drop them",
     kExisting, AddWork},
    {"status", "Show the locks and their holders", kExisting, AddStatus},
    {"top", "Show the locks in full screen, and keep them up to date", kExisting, AddTop},
    {"renew", "Renew the leases of a group's locks, or of one lock", kExisting, AddRenew},
    {"release", "Release a group's locks, newest first, or one lock", kExisting, AddRelease},
    {"purge", "Clear what expired locks left in the store", kExisting, AddPurge},
    {"break", "End another client's lock", kExisting, AddBreak},
    {"doctor", "Examine the store, and say what to mend", OpenMode::kUnchanged, AddDoctor},
}};

}  // namespace doclock::cli
