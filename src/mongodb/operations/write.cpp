#include "mongodb/operations/operations.h"
#include "mongodb/protocol/statements.h"

namespace doclock::mongodb {
namespace {

/// An update's or a delete's `n`.
bool Matched(const Reply& reply) { return reply.Integer("n") > 0; }

}  // namespace

void Operations::Execute(WriteOp& op) {
  if (op.mode == LockMode::kShared) return ReleaseShare(op);
  if (op.lock_id.is_nil() || op.lock_id == kSharedLockId) return NotMine(op);
  if (op.expected == kAnyVersion) return WriteAny(op);
  WriteKnown(op);
}

Queue Operations::QueueOf(const WriteOp& op, bool met) {
  return IsPlainRelease(op) && (met || op.queue_likely) ? Queue::kFirst : Queue::kNone;
}

void Operations::WriteKnown(WriteOp& op) {
  const Queue queue = QueueOf(op);
  if (TryWrite(op, queue)) return;
  if (queue == Queue::kFirst || !IsPlainRelease(op)) return NotMine(op);
  // There may be a queue.
  if (!TryWrite(op, Queue::kFirst)) NotMine(op);
}

/// False: nothing matched.
bool Operations::TryWrite(WriteOp& op, Queue queue) {
  Reply reply;
  if (op.write == WriteKind::kErase) {
    DeleteOne(*op.collection, HeldFilter(op, queue), reply);
  } else {
    UpdateOne(*op.collection, HeldFilter(op, queue), HeldUpdate(op, queue), reply);
  }
  if (Settled(op, Single(reply))) return true;
  if (!Matched(reply)) return false;
  op.version = op.expected + 1;
  op.status = OpStatus::kDone;
  return true;
}

/// A release by value: the answer tells the version.
void Operations::WriteAny(WriteOp& op) {
  const LockFieldNames& names = op.collection->fields();
  Doc rest;
  if (op.write == WriteKind::kErase) {
    rest.Add("remove", true);
  } else {
    HeldUpdate(op, Queue::kFirst).AddTo(rest, "update");
  }
  rest.Add("fields", Doc::Of(names.version, 1));
  Reply reply;
  FindAndModify(*op.collection, HeldFilter(op, Queue::kFirst), rest, reply);
  if (Settled(op, Single(reply))) return;
  bson_t before;
  if (!reply.Document("value", before)) return NotMine(op);
  op.version = ReadStoredLock(before, *op.collection, 0).version + 1;
  op.status = OpStatus::kDone;
}

/// Nothing matched: finds out whether the document exists at all.
void Operations::NotMine(WriteOp& op) {
  Reply reply;
  const std::optional<StoredLock> lock = Look(*op.collection, *op.key, reply);
  if (Settled(op, reply)) return;
  JudgeWrite(op, lock ? &*lock : nullptr);
}

}  // namespace doclock::mongodb
