#pragma once

#include <chrono>
#include <span>

#include "doclock/testing/faulty_store.h"

namespace doclock::histories {

/// Passes all on, one operation at a time. A subclass changes or watches some of them. As
/// thread-safe as the store inside.
class PassingStore : public testing::FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    for (StoreOp* const op : ops) {
      Visit(*op, [&](auto& one) { ExecuteOne(one, budget); });
    }
  }

 protected:
  using Budget = std::chrono::milliseconds;
  virtual void ExecuteOne(AcquireOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(RenewOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(WriteOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(SaveOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(ReadOp& op, Budget budget) { Pass(op, budget); }

  void Pass(StoreOp& op, Budget budget) {
    StoreOp* const one[] = {&op};
    FaultyStore::Execute(one, budget);
  }
  /// Releases the lock that `op` is about, as another client might.
  void Free(const WriteOp& op, Budget budget) {
    WriteOp release(*op.collection, {*op.key, op.hash});
    release.request.lock_id = op.request.lock_id;
    release.request.release_id = NewUuid();
    Pass(release, budget);
  }
};

}  // namespace doclock::histories
