/// What Database does when a test breaks it.

#include "doclock/testing/faulty_store.h"
#include "simulation/database/database.h"

namespace doclock::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool IsWriteOfBody(const StoreOp& op) {
  if (op.kind == OpKind::kWrite)
    return static_cast<bool>(static_cast<const WriteOp&>(op).request.body);
  return op.kind == OpKind::kSave;
}

}  // namespace

void Database::ExecuteBroken(StoreOp& op) {
  StoreOp* const one[] = {&op};
  const auto execute = [&] { store_->Execute(one, kBudget); };
  switch (breakage_) {
    case Breakage::kGrantsTooEarly:
      if (op.kind == OpKind::kAcquire) early_ = milliseconds(200);
      break;
    case Breakage::kOneShareTooMany:
      if (op.kind == OpKind::kAcquire) ++static_cast<AcquireOp&>(op).request.grant.max_holders;
      break;
    case Breakage::kKeepsLocks:
      if (op.kind == OpKind::kWrite) {
        auto& write = static_cast<WriteOp&>(op);
        if (write.request.write == WriteKind::kRelease &&
            write.request.mode == LockMode::kExclusive && EverySo(5)) {
          write.request.write = WriteKind::kCheckpoint;
          write.request.next = nullptr;
          write.request.ttl = std::chrono::hours(1);
        }
      }
      break;
    case Breakage::kGrantsToNobody:
      if (op.kind == OpKind::kWrite && GrantToNobody(static_cast<WriteOp&>(op))) return;
      break;
    case Breakage::kIgnoresBreaks:
      if (op.kind == OpKind::kWrite && KeepLock(static_cast<WriteOp&>(op))) return;
      break;
    default:
      break;
  }
  execute();
  early_ = {};
  switch (breakage_) {
    case Breakage::kRenewsWithoutLooking:
      if (op.kind == OpKind::kRenew && op.status == OpStatus::kLost) {
        RetakeLost(static_cast<RenewOp&>(op));
      }
      break;
    case Breakage::kWritesWithoutGuard:
      if (op.kind == OpKind::kWrite && op.status == OpStatus::kLost) {
        WriteAnyway(static_cast<WriteOp&>(op));
      }
      break;
    case Breakage::kSavesWithoutGuard:
      if (op.kind == OpKind::kSave && op.status == OpStatus::kConflict) {
        SaveAnyway(static_cast<SaveOp&>(op));
      }
      break;
    case Breakage::kReadsStale:
      if (op.kind == OpKind::kRead && op.status == OpStatus::kDone) {
        ShowFormer(static_cast<ReadOp&>(op));
      }
      break;
    case Breakage::kReadsBackwards:
      if (op.kind == OpKind::kRead && op.status == OpStatus::kDone) {
        ShowOnce(static_cast<ReadOp&>(op));
      }
      break;
    case Breakage::kHidesSuccess:
      if (IsWriteOfBody(op) && op.status == OpStatus::kDone && EverySo(5)) {
        op.status = op.kind == OpKind::kSave ? OpStatus::kConflict : OpStatus::kLost;
      }
      break;
    case Breakage::kInventsSuccess:
      if (IsWriteOfBody(op) && (op.status == OpStatus::kConflict || op.status == OpStatus::kLost) &&
          EverySo(2)) {
        op.status = OpStatus::kDone;
      }
      break;
    default:
      break;
  }
}

void Database::ExecuteTogether(std::span<StoreOp* const> ops) {
  if (breakage_ != Breakage::kStoresHalf) return Primary::ExecuteTogether(ops);
  for (std::size_t done = 0; done < ops.size(); ++done) {
    Execute(*ops[done]);
    if (ops[done]->status == OpStatus::kDone) continue;
    for (StoreOp* const before : ops.first(done)) before->MakePending();
    return;
  }
}

void Database::RetakeLost(RenewOp& op) {
  if (op.request.mode == LockMode::kShared) {
    op.status = OpStatus::kDone;
    return;
  }
  ReadOp look(*op.collection, *op.key);
  StoreOp* const looking[] = {&look};
  store_->Execute(looking, kBudget);
  if (look.result.locked) testing::ExpireLock(*store_, op.collection->name(), *op.key);
  AcquireOp retake(*op.collection, *op.key);
  retake.request.grant.lock_id = op.request.lock_id;
  retake.request.grant.ttl = op.request.ttl;
  StoreOp* const one[] = {&retake};
  store_->Execute(one, kBudget);
  op.status = retake.status;
}

void Database::WriteAnyway(WriteOp& op) {
  ReadOp look(*op.collection, *op.key);
  StoreOp* const looking[] = {&look};
  store_->Execute(looking, kBudget);
  op.request.lock_id = look.result.lock_id;
  op.request.expected = look.result.version;
  StoreOp* const one[] = {&op};
  store_->Execute(one, kBudget);
}

void Database::SaveAnyway(SaveOp& op) {
  if (op.request.save == SaveKind::kInsert) return;
  ReadOp look(*op.collection, *op.key);
  StoreOp* const looking[] = {&look};
  store_->Execute(looking, kBudget);
  op.request.born = look.result.born;
  op.request.expected = look.result.version;
  StoreOp* const one[] = {&op};
  store_->Execute(one, kBudget);
}

void Database::ShowFormer(ReadOp& op) {
  const auto former = former_.find({op.collection->name(), *op.key});
  if (former != former_.end() && world_.now() - former->second.until < seconds(1)) {
    op.result.body = former->second.body;
  }
}

void Database::ShowOnce(ReadOp& op) {
  const auto former = former_.find({op.collection->name(), *op.key});
  if (former == former_.end()) return;
  if (std::exchange(former->second.seen, true)) op.result.body = former->second.body;
}

bool Database::KeepLock(WriteOp& op) {
  const bool foreign = op.request.write == WriteKind::kRelease && !op.request.release_id.is_nil() &&
                       op.request.next == nullptr && (!op.request.body || op.request.merge);
  if (foreign) op.status = OpStatus::kDone;
  return foreign;
}

bool Database::GrantToNobody(WriteOp& op) {
  if (op.request.write != WriteKind::kRelease || op.request.mode == LockMode::kShared ||
      op.request.next != nullptr) {
    return false;
  }
  GrantRequest nobody;
  nobody.lock_id = NewUuid();
  nobody.ttl = seconds(1);
  op.request.next = &nobody;
  StoreOp* const one[] = {&op};
  store_->Execute(one, kBudget);
  op.request.next = nullptr;
  return true;
}

void Database::SwapWaiters(Change& change) {
  if (!change.after || !change.after->lock.contains("queue")) return;
  auto& queue = change.after->lock["queue"];
  if (queue.size() > 1) std::swap(queue[0], queue[1]);
}

/// The second waiter is granted what the first one was, which is forgotten.
void Database::SkipWaiter(Change& change) {
  if (!change.before || !change.after || !change.before->lock.contains("queue")) return;
  const auto& waited = change.before->lock["queue"];
  auto& lock = change.after->lock;
  if (!lock.contains("id") || lock["id"] != waited[0]["id"] || !lock.contains("queue")) return;
  std::swap(lock["id"], lock["queue"][0]["id"]);
}

/// The share that came last, behind a writer, is granted beside those that are held.
void Database::LetShareIn(Change& change) {
  if (!change.after || !change.after->lock.contains("shares")) return;
  auto& lock = change.after->lock;
  if (!lock.contains("queue") || lock["queue"].size() < 2) return;
  auto& queue = lock["queue"];
  if (queue.front().contains("share") || !queue.back().contains("share")) return;
  const auto now = change.at.time_since_epoch().count();
  const auto ttl = queue.back()["ttl"];
  lock["shares"].push_back({{"id", queue.back()["id"]},
                            {"granted", now},
                            {"fence", lock["version"]},
                            {"since", now},
                            {"ttl", ttl}});
  lock["since"] = now;
  lock["ttl"] = std::max(lock["ttl"], ttl);
  queue.erase(queue.size() - 1);
}

std::int64_t Database::Purge(Collection& collection, std::int64_t limit) {
  if (breakage_ == Breakage::kPurgesLiveLocks) {
    for (const LockRow& row : store_->ListLocks(collection, {}, {}, kBudget).rows) {
      const bool held = row.mode == LockMode::kExclusive;
      if (held) testing::ExpireLock(*store_, collection.name(), row.key);
    }
  }
  return Primary::Purge(collection, limit);
}

LockPage Database::ListLocks(Collection& collection, const LockQuery& query) {
  LockPage page = Primary::ListLocks(collection, query);
  if (breakage_ == Breakage::kForgetsMembers && !query.group.empty() && page.rows.size() > 1) {
    page.rows.resize(1);
  }
  return page;
}

}  // namespace doclock::simulation
