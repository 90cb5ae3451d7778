#include "mongo/body_codec.h"
#include "mongo/lock_filters.h"
#include "mongo/operations.h"

namespace doclock::mongo {
namespace {

constexpr int kMaxChanges = 4;

void Conflict(StoreOp& op, std::int64_t found_version) {
  op.status = OpStatus::kConflict;
  op.detail = std::make_unique<OpDetail>();
  op.detail->found_version = found_version;
}

void AddBorn(Doc& filter, const std::string& name, const Uuid& born) {
  if (born.is_nil()) {
    filter.Add(name, Doc::OfNull("$eq"));
  } else {
    filter.Add(name, Equals(born));
  }
}

void AddVersion(Doc& filter, const std::string& name, std::int64_t version) {
  // A document that this library has not written has none.
  if (version == 0) {
    Array none;
    none.Add(Doc::Of(name, Doc::Of("$exists", false))).Add(Doc::Of(name, Equals(version)));
    filter.AddArray("$or", none.doc());
  } else {
    filter.Add(name, Equals(version));
  }
}

bool IsExpected(const SaveOp& op, const StoredLock& lock) {
  return op.expected == kAnyVersion || (op.expected == lock.version && op.born == lock.born);
}

}  // namespace

void Operations::Execute(SaveOp& op) {
  if (op.save == SaveKind::kInsert) return Insert(op);
  const StoredLock* expired = nullptr;
  std::optional<StoredLock> seen;
  for (int attempt = 0; attempt < kMaxChanges; ++attempt) {
    if (TryChange(op, expired)) return;
    Reply reply;
    seen = Look(*op.collection, *op.key, reply);
    if (Settled(op, reply)) return;
    if (!seen) {
      op.status = OpStatus::kMissing;
      return;
    }
    if (seen->state == StoredLock::State::kMalformed) return Malformed(op);
    if (seen->live()) return Busy(op, *seen);
    if (!IsExpected(op, *seen)) return Conflict(op, seen->version);
    expired = seen->state == StoredLock::State::kExpired ? &*seen : nullptr;
  }
  // Locks came and went each time.
  op.status = OpStatus::kBusy;
  op.detail = std::make_unique<OpDetail>();
}

/// False: nothing matched.
bool Operations::TryChange(SaveOp& op, const StoredLock* expired) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  Doc filter;
  filter.Add("_id", Equals(*op.key));
  if (expired != nullptr) {
    bson_concat(filter.get(), expired->id.get());
    filter.Add("$expr", ExpiredExpr(collection));
  } else {
    AddFree(filter, collection);
  }
  if (op.expected != kAnyVersion) {
    AddVersion(filter, names.version, op.expected);
    AddBorn(filter, names.born, op.born);
  }
  Reply reply;
  if (op.save == SaveKind::kErase) {
    DeleteOne(collection, filter, reply);
  } else {
    if (op.expected == kAnyVersion) AddGoodVersion(filter, collection);
    Update update(collection);
    update.Release(op.write_id);
    update.RaiseVersion();
    if (op.body) update.ReplaceBody(op.body, op.base);
    UpdateOne(collection, filter, update, reply);
  }
  if (Settled(op, reply)) return true;
  if (reply.Integer("n") == 0) return false;
  op.version = op.expected + 1;
  op.status = OpStatus::kDone;
  return true;
}

void Operations::Insert(SaveOp& op) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  const Uuid born = NewUuid();
  Doc document;
  document.Add("_id", *op.key);
  AppendMembers(document, op.body.json());
  document.AddNull(names.id).Add(names.version, std::int64_t{1}).Add(names.born, born);
  document.Add(names.released, op.write_id);
  Array documents;
  documents.Add(document);
  Doc command;
  command.Add("insert", std::string_view(collection.name()));
  command.AddArray("documents", documents.doc());
  Reply reply;
  Write(command, reply);
  if (Settled(op, reply)) return;
  if (!reply.is_duplicate()) {
    op.born = born;
    op.version = 1;
    op.status = OpStatus::kDone;
    return;
  }
  Reply look;
  const std::optional<StoredLock> found = Look(collection, *op.key, look);
  if (Settled(op, look)) return;
  Conflict(op, found ? found->version : 0);
}

}  // namespace doclock::mongo
