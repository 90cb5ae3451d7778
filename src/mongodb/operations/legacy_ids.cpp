#include "mongodb/operations/legacy_ids.h"

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "mongodb/bson/uuid_bounds.h"

namespace doclock::mongodb {
namespace {

/// As drivers wrote the same UUID: Python's and most others', .NET's, Java's.
std::array<Uuid, 3> Spellings(const Uuid& id) {
  Uuid net = id, java = id;
  std::reverse(net.data, net.data + 4);
  std::reverse(net.data + 4, net.data + 6);
  std::reverse(net.data + 6, net.data + 8);
  std::reverse(java.data, java.data + 8);
  std::reverse(java.data + 8, java.data + 16);
  return {id, net, java};
}

struct Missing {
  StoreOp* op;
  std::array<Uuid, 3> spellings;
};

/// Not for writes and renewals of a holder: it had the document before.
bool MayBeLegacy(const StoreOp& op) {
  return op.status == OpStatus::kMissing && op.kind != OpKind::kWrite &&
         op.kind != OpKind::kRenew && std::holds_alternative<Uuid>(op.key->value());
}

Doc FindIds(const Collection& collection, const Doc& filter, std::int64_t limit) {
  Doc command;
  command.Add("find", std::string_view(collection.name())).Add("filter", filter);
  command.Add("projection", Doc::Of("_id", 1)).Add("limit", limit).Add("batchSize", limit);
  command.Add("singleBatch", true);
  return command;
}

}  // namespace

std::string LegacyIdText(const Collection& collection) {
  return "a document of " + collection.name() +
         " has a UUID of subtype 3 (legacy) as its _id; keys are UUIDs of subtype 4";
}

void RefuseLegacyIds(Operations& operations, std::span<StoreOp* const> ops) {
  std::vector<Missing> missing;
  Doc ids;
  std::int64_t count = 0;
  for (StoreOp* op : ops) {
    if (!MayBeLegacy(*op)) continue;
    missing.push_back({op, Spellings(std::get<Uuid>(op->key->value()))});
    for (const Uuid& id : missing.back().spellings) {
      AddLegacyUuid(ids, std::to_string(count++), id);
    }
  }
  if (missing.empty()) return;
  const Collection& collection = *missing.front().op->collection;
  Doc command = FindIds(collection, Doc::Of("_id", Doc::OfArray("$in", ids)), count);
  Reply reply;
  operations.Read(command, reply);
  if (!reply.answered()) return;
  reply.ForEachInBatch([&](const bson_t& doc) {
    bson_iter_t iter;
    Uuid id;
    if (!FindField(doc, "_id", iter) || !ReadUuid(iter, id)) return true;
    for (const Missing& one : missing) {
      const auto& all = one.spellings;
      if (std::find(all.begin(), all.end(), id) != all.end()) {
        one.op->Fail(Errc::kRefused, LegacyIdText(collection));
      }
    }
    return true;
  });
}

bool HasLegacyId(Operations& operations, const Collection& collection, const Doc& match) {
  Doc bounds;
  AddLegacyUuid(bounds, "$gte", LowestUuid());
  AddLegacyUuid(bounds, "$lte", HighestUuid());
  Array both;
  both.Add(Doc::Of("_id", bounds)).Add(match);
  Doc command = FindIds(collection, Doc::OfArray("$and", both.doc()), 1);
  Reply reply;
  operations.Read(command, reply);
  bool found = false;
  if (reply.answered()) {
    reply.ForEachInBatch([&](const bson_t&) {
      found = true;
      return false;
    });
  }
  return found;
}

}  // namespace doclock::mongodb
