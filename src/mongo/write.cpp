#include "mongo/operations.h"

namespace doclock::mongo {
namespace {

Doc HeldBy(const WriteOp& op) {
  const LockFieldNames& names = op.collection->fields();
  Doc filter;
  filter.Add("_id", Equals(*op.key)).Add(names.id, Equals(op.lock_id));
  if (op.expected != kAnyVersion) filter.Add(names.version, Equals(op.expected));
  return filter;
}

Update ChangeOf(const WriteOp& op) {
  Update update(*op.collection);
  update.RaiseVersion();
  if (op.write == WriteKind::kCheckpoint) {
    update.RestartLease(op.ttl);
  } else if (op.next != nullptr) {
    update.HandOver(op.lock_id, *op.next);
  } else {
    update.Release(op.lock_id);
  }
  if (op.body && op.merge) {
    update.MergeBody(op.body);
  } else if (op.body) {
    update.ReplaceBody(op.body, op.base);
  }
  return update;
}

/// An update's or a delete's `n`.
bool Matched(const Reply& reply) { return reply.Integer("n") > 0; }

}  // namespace

void Operations::Execute(WriteOp& op) {
  if (op.lock_id.is_nil()) return NotMine(op);
  if (op.expected == kAnyVersion) return WriteAny(op);
  WriteKnown(op);
}

void Operations::WriteKnown(WriteOp& op) {
  Reply reply;
  if (op.write == WriteKind::kErase) {
    DeleteOne(*op.collection, HeldBy(op), reply);
  } else {
    UpdateOne(*op.collection, HeldBy(op), ChangeOf(op), reply);
  }
  if (Settled(op, reply)) return;
  if (!Matched(reply)) return NotMine(op);
  op.version = op.expected + 1;
  op.status = OpStatus::kDone;
}

/// A release by value: the version is learned from the answer.
void Operations::WriteAny(WriteOp& op) {
  const LockFieldNames& names = op.collection->fields();
  Doc rest;
  if (op.write == WriteKind::kErase) {
    rest.Add("remove", true);
  } else {
    ChangeOf(op).AddTo(rest, "update");
  }
  rest.Add("fields", Doc::Of(names.version, 1));
  Reply reply;
  FindAndModify(*op.collection, HeldBy(op), rest, reply);
  if (Settled(op, reply)) return;
  bson_t before;
  if (!reply.Document("value", before)) return NotMine(op);
  op.version = ReadStoredLock(before, *op.collection, 0).version + 1;
  op.status = OpStatus::kDone;
}

/// Nothing matched: is the document there at all?
void Operations::NotMine(WriteOp& op) {
  Reply reply;
  const std::optional<StoredLock> lock = Look(*op.collection, *op.key, reply);
  if (Settled(op, reply)) return;
  if (!lock) {
    op.status = OpStatus::kMissing;
  } else if (lock->state == StoredLock::State::kMalformed) {
    Malformed(op);
  } else {
    op.status = OpStatus::kLost;
  }
}

}  // namespace doclock::mongo
