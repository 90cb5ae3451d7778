#include "conformance/racy_store.h"

#include <array>
#include <utility>

#include "conformance/map_records.h"
#include "doclock/testing/faulty_store.h"

namespace doclock::conformance {
namespace {

class RacyStore final : public testing::FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds) override {
    for (StoreOp* op : ops) {
      switch (op->kind) {
        case OpKind::kAcquire:
          Acquire(static_cast<AcquireOp&>(*op));
          break;
        case OpKind::kSave:
          Save(static_cast<SaveOp&>(*op));
          break;
        default:
          Run(*op);
      }
    }
  }

  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    op.status = OpStatus::kMissing;
    const auto choose = [&](QueryRow&& row) {
      key = row.key;
      op.status = OpStatus::kPending;
      return false;
    };
    Query(*op.collection, Filter(filter).Free(), choose, budget);
    if (op.status == OpStatus::kMissing) return;
    op.key = &key;
    op.hash = key.Hash();
    rendezvous_.Wait();
    Break(op);
    Run(op);
  }

 private:
  void Run(StoreOp& op) {
    const std::array<StoreOp*, 1> one{&op};
    FaultyStore::Execute(one, kBudget);
  }
  ReadOp Look(const StoreOp& op) {
    ReadOp look(*op.collection, {*op.key, op.hash});
    Run(look);
    return look;
  }
  void Break(const StoreOp& op) {
    try {
      testing::BreakLock(*this, op.collection->name(), *op.key);
    } catch (const Error&) {
      // It is not locked, or not there any more.
    }
  }

  void Acquire(AcquireOp& op) {
    const ReadOp seen = Look(op);
    const bool shares =
        op.request.grant.mode == LockMode::kShared && seen.result.lock_id == kSharedLockId;
    if (seen.result.locked && !shares) return Run(op);
    rendezvous_.Wait();
    const ReadOp now = Look(op);
    if (now.result.locked && (!shares || now.result.lock_id != kSharedLockId)) Break(op);
    Run(op);
  }

  void Save(SaveOp& op) {
    const ReadOp seen = Look(op);
    const bool is_missing = seen.status == OpStatus::kMissing;
    if (seen.result.locked || is_missing != (op.request.save == SaveKind::kInsert)) return Run(op);
    const bool is_other =
        op.request.expected != kAnyVersion && seen.result.version != op.request.expected;
    if (!is_missing && is_other) return Run(op);
    rendezvous_.Wait();
    Break(op);
    if (op.request.save == SaveKind::kErase) {
      op.request.expected = kAnyVersion;
      Run(op);
      op.status = OpStatus::kDone;
    } else if (op.request.save == SaveKind::kReplace) {
      op.request.expected = Look(op).result.version;
      Run(op);
    } else {
      SaveOp erase(*op.collection, {*op.key, op.hash});
      erase.request.save = SaveKind::kErase;
      erase.request.write_id = FreshId();
      Run(erase);
      Run(op);
    }
  }

  Rendezvous rendezvous_;
};

}  // namespace

std::shared_ptr<Store> MakeRacy(std::shared_ptr<Store> store) {
  return std::make_shared<RacyStore>(std::move(store));
}

}  // namespace doclock::conformance
