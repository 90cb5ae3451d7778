#include "mongodb/operations/operations.h"
#include "mongodb/protocol/statements.h"

namespace doclock::mongodb {
namespace {

constexpr int kMaxChanges = 4;

}  // namespace

void Operations::Execute(SaveOp& op) {
  if (op.save == SaveKind::kInsert) return Insert(op);
  std::optional<StoredLock> seen;
  for (int attempt = 0; attempt < kMaxChanges; ++attempt) {
    if (TryChange(op, seen ? &*seen : nullptr)) return;
    Reply reply;
    seen = Look(*op.collection, *op.key, reply);
    if (Settled(op, reply)) return;
    if (JudgeSave(op, seen ? &*seen : nullptr)) return;
  }
  // Other clients locked and released in each attempt.
  BusyWithOthers(op);
}

/// False: nothing matched.
bool Operations::TryChange(SaveOp& op, const StoredLock* seen) {
  Reply reply;
  if (op.save == SaveKind::kErase) {
    DeleteOne(*op.collection, SaveFilter(op, seen), reply);
  } else {
    UpdateOne(*op.collection, SaveFilter(op, seen), SaveUpdate(op, seen), reply);
  }
  if (Settled(op, Single(reply))) return true;
  if (reply.Integer("n") == 0) return false;
  op.version = op.expected + 1;
  op.status = OpStatus::kDone;
  return true;
}

void Operations::Insert(SaveOp& op) {
  const Collection& collection = *op.collection;
  const Uuid born = NewUuid();
  Doc command;
  command.Add("insert", std::string_view(collection.name()));
  command.AddArray("documents", Array().Add(NewDocument(op, born)).doc());
  Reply reply;
  Write(command, reply);
  if (Settled(op, Single(reply))) return;
  if (!Single(reply).is_duplicate()) {
    op.born = born;
    op.version = 1;
    op.status = OpStatus::kDone;
    return;
  }
  Reply look;
  const std::optional<StoredLock> found = Look(collection, *op.key, look);
  if (!Settled(op, look)) JudgeSave(op, found ? &*found : nullptr);
}

}  // namespace doclock::mongodb
