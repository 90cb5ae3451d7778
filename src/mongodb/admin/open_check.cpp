#include "mongodb/admin/admin.h"

#include <string_view>
#include <thread>
#include <vector>

#include "mongodb/admin/collection_rules.h"
#include "mongodb/bson/bson.h"
#include "mongodb/unit/operations.h"

namespace doclock::mongodb {
namespace {

constexpr std::chrono::seconds kBudget{10};
/// The pause between two attempts to read.
constexpr std::chrono::milliseconds kPause{50};
[[noreturn]] void Refuse(const Collection& collection, const std::string& why) {
  throw StoreException(Errc::kRefused,
                       "doclock: MongoDB: the collection " + collection.name() + " " + why);
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

void CheckIndexes(const Reader& reader, const Collection& collection) {
  Reply reply;
  if (!Looked(reader, IndexesOf(collection.name()), reply)) return;
  CheckFindings(collection, JudgeIndexes(reply, collection.fields()));
}

/// @param library see JudgeForeignLocks
void CheckDocuments(const Reader& reader, const Collection& collection, std::string_view library) {
  Reply reply;
  if (!Looked(reader, ForeignLocksIn(collection, library), reply)) return;
  CheckFindings(collection, JudgeForeignLocks(reply, collection, library));
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
  CheckDocuments(reader, collection, {});
  CheckIndexes(reader, collection);
  CheckIds(reader, collection);
}

std::shared_ptr<Collection> OpenTheirs(Server& server, const std::string& name,
                                       std::chrono::milliseconds default_ttl,
                                       std::shared_ptr<const Layout> layout, bool creates) {
  if (!server.is_replica_set()) {
    throw StoreException(Errc::kRefused,
                         "doclock: MongoDB: a collection with a layout needs a "
                         "replica set, whose operation time makes the fence");
  }
  const auto opened = std::make_shared<LayoutCollection>(name, default_ttl, std::move(layout));
  const Layout& theirs = opened->layout();
  CheckNames(server, *opened);
  const Reader reader(server);
  Reply options, list;
  if (Looked(reader, OptionsOf(name), options)) CheckFindings(*opened, JudgePlace(options));
  CheckDocuments(reader, *opened, theirs.library());
  if (Looked(reader, IndexesOf(name), list)) {
    CheckFindings(*opened, JudgePlaceIndexes(list, theirs.Index(), theirs.library()));
  }
  // Without it the other library's locks do not exclude each other.
  const bool by_index = theirs.key_field() != std::string_view("_id");
  if (by_index && !HasIndex(server, *opened, theirs.Index(), false)) {
    opened->lacks_index = !creates;
    IndexSpec index;
    index.held_locks = true;
    if (creates) EnsureIndex(server, *opened, index);
  }
  return opened;
}

bool HasIndex(Server& server, const Collection& collection, const Doc& index, bool is_needed) {
  Reply list;
  Reader(server).Read(IndexesOf(collection.name()), list);
  if (list.code != kNamespaceNotFound) Check(list);
  std::vector<Finding> found;
  const bool has = HasIndexLike(index, list, found);
  if (is_needed) CheckFindings(collection, found);
  return has;
}

}  // namespace doclock::mongodb
