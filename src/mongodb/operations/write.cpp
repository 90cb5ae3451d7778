#include "mongodb/operations/operations.h"
#include "mongodb/protocol/write_command.h"

namespace doclock::mongodb {

void Operations::Execute(WriteOp& op) {
  if (op.mode == LockMode::kShared) return ReleaseShare(op);
  if (op.lock_id.is_nil() || op.lock_id == kSharedLockId) return;
  if (op.expected == kAnyVersion) return WriteAny(op);
  const Queue queue = QueueOf(op);
  if (TryWrite(op, queue) || queue == Queue::kFirst || !IsPlainRelease(op)) return;
  // There may be a queue.
  TryWrite(op, Queue::kFirst);
}

Queue Operations::QueueOf(const WriteOp& op, bool met) {
  return IsPlainRelease(op) && (met || op.queue_likely) ? Queue::kFirst : Queue::kNone;
}

/// False: nothing matched.
bool Operations::TryWrite(WriteOp& op, Queue queue) {
  Reply reply;
  WriteOne(op, StatementOf(op, queue), reply);
  if (Settled(op, Single(reply))) return true;
  if (reply.Integer("n") == 0) return false;
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
  bson_t before;
  if (Settled(op, Single(reply)) || !reply.Document("value", before)) return;
  op.version = ReadStoredLock(before, *op.collection, 0).version + 1;
  op.status = OpStatus::kDone;
}

}  // namespace doclock::mongodb
