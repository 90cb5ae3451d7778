#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "doclock/store.h"

namespace doclock::test {

/// Short ways to call a store, one operation each, as the tests of a store's own folder use them.
/// Keys must outlive what is made of them.
class StoreClient {
 public:
  static constexpr std::chrono::milliseconds kTtl = std::chrono::seconds(30);
  static constexpr std::chrono::milliseconds kBudget = std::chrono::seconds(10);

  explicit StoreClient(std::shared_ptr<Store> store, const std::string& collection = "things",
                       std::chrono::milliseconds budget = kBudget)
      : store_(std::move(store)),
        collection_(store_->Open(collection, {}, kTtl)),
        budget_(budget) {}

  [[nodiscard]] Store& store() const noexcept { return *store_; }
  [[nodiscard]] Collection& collection() const noexcept { return *collection_; }
  [[nodiscard]] std::chrono::milliseconds budget() const noexcept { return budget_; }

  RenewOp Renew(const Key& key, const Uuid& lock_id, std::chrono::milliseconds ttl = kTtl,
                bool detached = false) {
    RenewOp op(*collection_, key);
    op.lock_id = lock_id;
    op.ttl = ttl;
    op.detached = detached;
    Execute(op);
    return op;
  }
  RenewOp RenewShare(const Key& key, const Uuid& lock_id, std::chrono::milliseconds ttl = kTtl) {
    RenewOp op(*collection_, key);
    op.lock_id = lock_id;
    op.ttl = ttl;
    op.mode = LockMode::kShared;
    Execute(op);
    return op;
  }
  WriteOp ReleaseShare(const Key& key, const Uuid& lock_id) {
    WriteOp op(*collection_, key);
    op.lock_id = lock_id;
    op.mode = LockMode::kShared;
    Execute(op);
    return op;
  }
  ReadOp Read(const Key& key) {
    ReadOp op(*collection_, key);
    Execute(op);
    return op;
  }
  void Execute(StoreOp& op) { Execute(op, budget_); }
  void Execute(StoreOp& op, std::chrono::milliseconds budget) {
    StoreOp* const one[] = {&op};
    store_->Execute(one, budget);
  }

 private:
  std::shared_ptr<Store> store_;
  std::shared_ptr<Collection> collection_;
  std::chrono::milliseconds budget_;
};

/// Why an operation ended as it did, for messages.
inline std::string Why(const StoreOp& op) {
  return std::to_string(static_cast<int>(op.status)) + " " + (op.detail ? op.detail->message : "");
}

}  // namespace doclock::test
