#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "doclock/store.h"

namespace doclock::histories {

/// Passes all on, one operation at a time. A subclass changes or watches some of them. As
/// thread-safe as the store inside.
class PassingStore : public Store {
 public:
  explicit PassingStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  StoreTraits traits() const noexcept override { return inner_->traits(); }
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    return inner_->Open(name, fields, default_ttl);
  }
  std::shared_ptr<Collection> Find(const std::string& name) const override {
    return inner_->Find(name);
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    for (StoreOp* const op : ops) {
      Visit(*op, [&](auto& one) { ExecuteOne(one, budget); });
    }
  }
  void Commit(CommitOp& commit, std::chrono::milliseconds budget) override {
    inner_->Commit(commit, budget);
  }
  void ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds budget) override {
    inner_->ReadTogether(reads, budget);
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override {
    inner_->Query(collection, filter, sink, budget);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    inner_->AcquireNext(filter, op, key, budget);
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    inner_->EnsureIndex(collection, index);
  }
  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override {
    return inner_->Purge(collection, limit, budget);
  }
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    return inner_->Watch(collection, std::move(listener));
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
    inner_->Execute(one, budget);
  }
  /// Releases the lock that `op` is about, as another client might.
  void Free(const WriteOp& op, Budget budget) {
    WriteOp release(*op.collection, {*op.key, op.hash});
    release.lock_id = op.lock_id;
    release.release_id = NewUuid();
    Pass(release, budget);
  }

 private:
  std::shared_ptr<Store> inner_;
};

}  // namespace doclock::histories
