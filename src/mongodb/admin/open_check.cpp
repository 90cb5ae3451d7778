#include "mongodb/admin/admin.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "mongodb/admin/collection_rules.h"
#include "mongodb/bson/uuids.h"
#include "mongodb/operations/operations.h"

namespace doclock::mongodb {
namespace {

constexpr std::chrono::seconds kBudget{10};
/// The pause between two attempts to read.
constexpr std::chrono::milliseconds kPause{50};
/// How many documents are checked.
constexpr std::int64_t kSample = 100;

/// That of DistributedLock.MongoDB, whose releases leave nothing else.
constexpr std::string_view kTtlIndex = "expiresAt_ttl";

struct System {
  std::string_view name;
  std::array<std::string_view, 4> fields;  ///< All its documents have these; some may be empty.
};

constexpr std::array kSystems{
    System{"DistributedLock.MongoDB", {"lockId", "acquiredAt", "expiresAt", "fencingToken"}},
    System{"square/mongo-lock", {"resource", "exclusive", "shared"}},
    System{"com.mongodb.pessimistic", {"ownerId", "ttlMs", "expiresAt"}},
    System{"MongoLocks or OpenSleigh", {"LockId", "LockTime"}}};

/// Documents of doclock itself, where another library's are expected.
constexpr System kOurs{"doclock without a layout", {"lockVersion", "lockBorn"}};

/// Are these the fields that doclock was told to use?
bool IsNamed(const System& system, const LockFieldNames& names) {
  const auto has = [&](const std::string& name) {
    return std::find(system.fields.begin(), system.fields.end(), name) != system.fields.end();
  };
  return has(names.id) && has(names.time);
}

[[noreturn]] void Refuse(const Collection& collection, const std::string& why) {
  throw StoreException(Errc::kRefused,
                       "doclock: MongoDB: the collection " + collection.name() + " " + why);
}

/// @param library whose layout the collection was given; empty: none's
void RefuseSystem(const Collection& collection, std::string_view system, std::string_view library) {
  if (!library.empty()) {
    Refuse(collection, "holds locks of " + std::string(system) + ", and was given the layout of " +
                           std::string(library) + ": neither would see the locks of the other");
  }
  Refuse(collection, "holds locks of " + std::string(system) +
                         ", which would not see those of doclock: give each a collection of its "
                         "own, or name the layout of theirs if doclock knows it "
                         "(MongodbStoreOptions::layouts)");
}

/// Reads the contents of a collection. Tries again while no primary answers (during an election),
/// as long as calls wait for a primary.
class Reader {
 public:
  explicit Reader(Server& server) : server_(server) {}

  void Read(const Doc& question, Reply& reply) const {
    for (;;) {
      Doc command;
      bson_concat(command.get(), question.get());
      Operations(server_, kBudget).Read(command, reply);
      const bool again = reply.outcome == Outcome::kNotSent;
      if (!again || std::chrono::steady_clock::now() + kPause >= give_up_) return;
      std::this_thread::sleep_for(kPause);
    }
  }

 private:
  Server& server_;
  const Deadline give_up_ = std::chrono::steady_clock::now() + server_.selection_timeout();
};

/// False: there is nothing to check, or the user may not read it.
bool Looked(const Reader& reader, const Doc& command, Reply& reply) {
  reader.Read(command, reply);
  if (reply.code == kNamespaceNotFound || reply.is_unauthorized()) return false;
  Check(reply);
  return true;
}

/// Refuses the collection for the first of what speaks against it.
void CheckFindings(const Collection& collection, const std::vector<Finding>& found) {
  for (const Finding& one : found) {
    if (one.level == FindingLevel::kProblem) Refuse(collection, one.text + "; " + one.advice);
  }
}

/// The server's own names, and the database that is not replicated.
void CheckNames(const Server& server, const Collection& collection) {
  if (server.database() == "local") {
    Refuse(collection,
           "would be in the database local, which a replica set does not replicate: its "
           "locks would be free after a failover; name another database in the URI");
  }
  if (collection.name().starts_with("system.")) {
    Refuse(collection, "is one of the server's own, by its name");
  }
}

void CheckOptions(const Reader& reader, const Collection& collection) {
  Reply reply;
  if (!Looked(reader, OptionsOf(collection.name()), reply)) return;
  CheckFindings(collection, JudgeOptions(reply, collection.fields()));
}

/// @param indexes what listIndexes tells
/// @param library see RefuseSystem
void CheckTtlIndex(const Reply& indexes, const Collection& collection, std::string_view library) {
  const std::string_view dotnet = kSystems.front().name;
  if (dotnet != library && HasIndex(indexes, kTtlIndex)) RefuseSystem(collection, dotnet, library);
}

void CheckIndexes(const Reader& reader, const Collection& collection) {
  const Doc command = Doc::Of("listIndexes", std::string_view(collection.name()));
  Reply reply;
  if (!Looked(reader, command, reply)) return;
  CheckTtlIndex(reply, collection, {});
  CheckFindings(collection, JudgeIndexes(reply, collection.fields()));
}

/// Matches the documents of these systems.
Array DocumentsOf(std::span<const System> systems) {
  Array any;
  for (const System& system : systems) {
    Doc all;
    for (const std::string_view field : system.fields) {
      if (!field.empty()) all.Add(field, Doc::Of("$exists", true));
    }
    any.Add(all);
  }
  return any;
}

/// @param library see RefuseSystem
void CheckDocuments(const Reader& reader, const Collection& collection, std::string_view library) {
  std::vector<System> own, others;
  for (const System& system : kSystems) {
    const bool is_own =
        library.empty() ? IsNamed(system, collection.fields()) : system.name.starts_with(library);
    (is_own ? own : others).push_back(system);
  }
  if (!library.empty()) others.push_back(kOurs);
  Doc match;
  match.AddArray("$or", DocumentsOf(others).doc());
  // What the body of such a document is called like is its own matter.
  if (!own.empty()) match.AddArray("$nor", DocumentsOf(own).doc());
  Array stages;
  stages.Add(Doc::Of("$limit", kSample)).Add(Doc::Of("$match", match));
  stages.Add(Doc::Of("$limit", 1));
  Doc command = Doc::Of("aggregate", std::string_view(collection.name()));
  command.Add("pipeline", stages).Add("cursor", Doc());
  Reply reply;
  if (!Looked(reader, command, reply)) return;
  reply.ForEachInBatch([&](const bson_t& doc) {
    for (const System& system : others) {
      bson_iter_t field;
      const bool all =
          std::all_of(system.fields.begin(), system.fields.end(), [&](std::string_view name) {
            return name.empty() || FindField(doc, std::string(name), field);
          });
      if (all) RefuseSystem(collection, system.name, library);
    }
    return true;
  });
}

/// Each driver had its own order of bytes for these, so no Key names them.
void CheckIds(const Reader& reader, const Collection& collection) {
  Doc bounds, command;
  AddLegacyUuid(bounds, "$gte", LowestUuid());
  AddLegacyUuid(bounds, "$lte", HighestUuid());
  command.Add("find", std::string_view(collection.name())).Add("filter", Doc::Of("_id", bounds));
  command.Add("projection", Doc::Of("_id", 1)).Add("limit", 1).Add("singleBatch", true);
  Reply reply;
  if (!Looked(reader, command, reply)) return;
  reply.ForEachInBatch([&](const bson_t&) -> bool {
    Refuse(collection,
           "has a document whose _id is a UUID of subtype 3 (legacy): insert it anew under one of "
           "subtype 4, as keys are");
  });
}

}  // namespace

void CheckCollection(Server& server, const Collection& collection) {
  CheckNames(server, collection);
  const Reader reader(server);
  CheckOptions(reader, collection);
  CheckIndexes(reader, collection);
  CheckDocuments(reader, collection, {});
  CheckIds(reader, collection);
}

void CheckPlace(Server& server, const Collection& collection, const Doc& index,
                std::string_view library) {
  CheckNames(server, collection);
  const Reader reader(server);
  Reply options, list;
  if (Looked(reader, OptionsOf(collection.name()), options)) {
    CheckFindings(collection, JudgePlace(options));
  }
  if (Looked(reader, Doc::Of("listIndexes", std::string_view(collection.name())), list)) {
    CheckTtlIndex(list, collection, library);
    CheckFindings(collection, JudgeExpiry(list, ExpiryField(*index.get())));
  }
  CheckDocuments(reader, collection, library);
}

}  // namespace doclock::mongodb
