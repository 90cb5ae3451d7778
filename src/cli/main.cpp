#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <iostream>

#include "cli/documents.h"
#include "cli/durations.h"
#include "cli/exit_codes.h"
#include "cli/locks.h"
#include "cli/run.h"
#include "cli/store_url.h"
#include "doclock/open_store.h"
#ifdef DOCLOCK_CLI_SILENCES_LIBMONGOC
#include <mongoc/mongoc.h>
#endif

namespace doclock::cli {
namespace {

/// What all of it was parsed into.
struct Arguments {
  StoreChoice store;
  std::string collection = kDefaultLockCollection;
  bool json = false;
  RunOptions run;
  DocumentOptions document;
  LocksOptions locks;
};

CLI::Option* AddDuration(CLI::App* app, const std::string& name, Duration& where,
                         const std::string& help) {
  return app
      ->add_option_function<std::string>(
          name,
          [&where, name](const std::string& text) {
            try {
              where = ParseDuration(text);
            } catch (const std::invalid_argument& error) {
              throw CLI::ValidationError(name, error.what());
            }
          },
          help)
      ->type_name("TIME");
}

/// Beside every subcommand, before or after its name.
void AddCommon(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "--store", arguments.store.url,
         "URL of the store, as sqlite:PATH or mongodb://HOST/DATABASE (else DOCLOCK_STORE says it)")
      ->type_name("URL");
  app.add_option("--store-file", arguments.store.file, "File whose first line is that URL")
      ->type_name("FILE");
  app.add_option("-c,--collection", arguments.collection, "Where the named locks are kept")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "Print JSON");
}

CLI::App* AddRun(CLI::App& app, RunOptions& run) {
  CLI::App* const sub = app.add_subcommand(
      "run", "Hold a lock while a command runs:\nrun [OPTIONS] NAME -- COMMAND [ARGUMENTS]");
  sub->footer(
      "Ends with what the command ends with; or 75 (or --busy-exit) if the lock is busy, 76 if it\n"
      "was lost, 69 if the store is away, 64 for bad options, 126 or 127 if the command cannot be\n"
      "executed or is not there, 128+N if signal N ended it.\n\n"
      "Example: doclock run --wait 5m nightly-backup -- rsync -a /data/ backup:/data/\n"
      "Example: doclock run --shared 4 --wait 1h render -- ./render frame-17");
  sub->add_option("name", run.name, "The lock")->required()->type_name("NAME");
  AddDuration(sub, "--wait", run.wait, "How long to wait if the lock is busy (default: not)");
  AddDuration(sub, "--ttl", run.ttl, "Length of the lease, which is renewed (default: 30s)");
  AddDuration(sub, "--min-hold", run.min_hold,
              "Keep the lock closed so long, however soon it ends");
  sub->add_option("--shared", run.shared,
                  "Share the lock with others who do, up to N at a time (default: hold it alone)")
      ->check(CLI::Range(1, kMaxHolders))
      ->type_name("N");
  AddDuration(sub, "--kill-after", run.kill_after,
              "Between TERM and KILL when the lock cannot be renewed (default: 5s, at most ttl/4)");
  sub->add_option("--owner", run.owner, "For people: who holds it (default: the command's name)");
  sub->add_option("--group", run.group, "A group of locks it belongs to");
  sub->add_option("--fence-env", run.fence_env, "Variable to pass the fence to the command in")
      ->type_name("NAME");
  sub->add_option("--busy-exit", run.busy_exit, "What to end with if the lock is busy")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
  return sub;
}

void AddDocument(CLI::App* sub, DocumentOptions& document, bool writes) {
  sub->add_option("collection", document.collection, "Its collection")
      ->required()
      ->type_name("COLLECTION");
  sub->add_option("key", document.key, "Its key")->required()->type_name("KEY");
  sub->add_option("--key-type", document.key_type, "What the key is")
      ->check(CLI::IsMember({"string", "int", "uuid", "oid"}))
      ->capture_default_str();
  if (!writes) return;
  AddDuration(sub, "--wait", document.wait, "How long to wait if it is locked (default: not)");
  AddDuration(sub, "--ttl", document.ttl, "Length of the lease, which is renewed (default: 30s)");
}

CLI::App* AddStatus(CLI::App& app, LocksOptions& locks) {
  CLI::App* const sub = app.add_subcommand("status", "Show who holds which lock");
  sub->footer("Example: doclock status --watch --prefix reports/");
  sub->add_option("name", locks.filter.name, "Only this lock")->type_name("NAME");
  sub->add_option("--prefix", locks.filter.name_prefix, "Only names that begin so");
  sub->add_option("--owner", locks.filter.owner, "Only locks of this owner");
  sub->add_option("--group", locks.filter.group, "Only locks of this group");
  sub->add_flag("--expired,!--live", locks.filter.expired, "Only expired (or only live) ones");
  sub->add_flag("--watch", locks.watch, "Show them again and again");
  AddDuration(sub, "--interval", locks.interval, "With --watch: how often (default: 2s)");
  return sub;
}

int Dispatch(const CLI::App& app, Arguments& arguments, const std::string& from_environment) {
  const std::string url = UrlOf(arguments.store, from_environment);
  if (app.got_subcommand("run")) {
    arguments.run.url = url;
    arguments.run.collection = arguments.collection;
    return RunCommand(arguments.run);
  }
  arguments.locks.collection = arguments.collection;
  arguments.locks.json = arguments.json;
  arguments.document.compact = arguments.json;
  const LockManager manager(OpenStore(url));
  if (app.got_subcommand("get")) return Get(manager, arguments.document);
  if (app.got_subcommand("put")) return Put(manager, arguments.document);
  if (app.got_subcommand("edit")) return Edit(manager, arguments.document);
  if (app.got_subcommand("status")) return Status(manager, arguments.locks);
  if (app.got_subcommand("renew")) return Renew(manager, arguments.locks);
  if (app.got_subcommand("release")) return Release(manager, arguments.locks);
  if (app.got_subcommand("purge")) return Purge(manager, arguments.locks);
  return Break(manager, arguments.locks);
}

int ExitCodeOf(const Error& error) {
  switch (error.errc()) {
    case Errc::kBusy:
    case Errc::kTimedOut:
      return kBusy;
    case Errc::kLost:
      return kLost;
    case Errc::kNotFound:
    case Errc::kNotOwner:
      return kNotFound;
    case Errc::kDocument:
    case Errc::kConflict:
      return kBadData;
    default:
      return kStoreAway;
  }
}

void AddAll(CLI::App& app, Arguments& arguments) {
  AddCommon(app, arguments);
  AddRun(app, arguments.run);
  CLI::App* sub = app.add_subcommand("get", "Print a document");
  AddDocument(sub, arguments.document, false);
  sub->footer("Example: doclock get order_sagas 42");
  sub = app.add_subcommand("put", "Lock a document, replace it and unlock, in one write");
  AddDocument(sub, arguments.document, true);
  sub->add_option("file", arguments.document.file, "JSON; - is standard input")
      ->type_name("FILE")
      ->capture_default_str();
  sub->footer("Example: echo '{\"step\":\"paid\"}' | doclock put order_sagas 42");
  sub = app.add_subcommand("edit", "Lock a document while you edit it");
  AddDocument(sub, arguments.document, true);
  sub->add_option("--editor", arguments.document.editor, "Instead of $VISUAL, $EDITOR and vi");
  sub->footer("Example: EDITOR=nano doclock edit --wait 10s order_sagas 42");
  AddStatus(app, arguments.locks);
  sub = app.add_subcommand("renew", "Start the leases of a group's locks anew");
  sub->add_option("group", arguments.locks.group, "The group")->required()->type_name("GROUP");
  AddDuration(sub, "--ttl", arguments.locks.ttl, "Their new length (default: what they have)");
  sub->footer("Example: doclock renew --ttl 10m deployment-17");
  sub = app.add_subcommand("release", "Release a group's locks, newest first");
  sub->add_option("group", arguments.locks.group, "The group")->required()->type_name("GROUP");
  sub->footer("Example: doclock release deployment-17");
  sub = app.add_subcommand("purge", "Clear what expired locks left");
  sub->add_flag("--forget", arguments.locks.purge.forget,
                "Delete names long unused too; their fences begin at 1 again");
  AddDuration(sub, "--idle-for", arguments.locks.purge.idle_for,
              "With --forget: unused for how long");
  sub->footer("Example: doclock purge --forget --idle-for 30d");
  sub = app.add_subcommand("break", "End a lock that somebody else holds");
  sub->add_option("name", arguments.locks.name, "The lock")->required()->type_name("NAME");
  sub->add_option("--by", arguments.locks.by, "For people: who does it");
  sub->footer("Example: doclock break --by \"$USER\" nightly-backup");
}

/// libmongoc tells of its troubles on standard output, which is the command's. What matters of them
/// comes as an error.
void SilenceDriver() {
#ifdef DOCLOCK_CLI_SILENCES_LIBMONGOC
  mongoc_log_set_handler(nullptr, nullptr);
#endif
}

int Main(int argc, char** argv) {
  SilenceDriver();
  CLI::App app{"Named locks and locked documents, over a database you already have", "doclock"};
  app.set_version_flag("--version", DOCLOCK_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  Arguments arguments;
  AddAll(app, arguments);
  // What follows -- is the command's, whatever it looks like.
  char** const end = argv + argc;
  char** const dashes =
      std::find_if(argv, end, [](const char* a) { return !std::strcmp(a, "--"); });
  if (dashes != end) arguments.run.command.assign(dashes + 1, end);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
    if (app.got_subcommand("run") && arguments.run.command.empty()) {
      throw CLI::RequiredError("-- and a COMMAND behind it");
    }
    if (!app.got_subcommand("run") && dashes != end) {
      throw CLI::ExtrasError({"--"});
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  const std::string from_environment = HideStoreUrl(argc, argv);
  try {
    return Dispatch(app, arguments, from_environment);
  } catch (const std::invalid_argument& error) {
    std::cerr << "doclock: " << error.what() << '\n';
    return kUsage;
  } catch (const Error& error) {
    const std::string what = error.what();
    std::cerr << (what.starts_with("doclock: ") ? "" : "doclock: ") << what << '\n';
    return ExitCodeOf(error);
  } catch (const std::exception& error) {
    std::cerr << "doclock: " << error.what() << '\n';
    return kInternal;
  }
}

}  // namespace
}  // namespace doclock::cli

int main(int argc, char** argv) { return doclock::cli::Main(argc, argv); }
