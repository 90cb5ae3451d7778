#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "doclock/mongodb_store.h"
#include "doclock/store.h"

namespace doclock::mongo_test {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kTtl = 30s;

/// Short ways to call a store, one operation each. Keys must outlive what is made of them.
class Client {
 public:
  explicit Client(std::shared_ptr<Store> store, const std::string& collection = "things",
                  std::chrono::milliseconds budget = 10s)
      : store_(std::move(store)),
        collection_(store_->Open(collection, {}, kTtl)),
        budget_(budget) {}

  [[nodiscard]] Store& store() const noexcept { return *store_; }
  [[nodiscard]] Collection& collection() const noexcept { return *collection_; }
  [[nodiscard]] std::chrono::milliseconds budget() const noexcept { return budget_; }

  AcquireOp Acquire(const Key& key, const Uuid& id, Body insert = {},
                    std::chrono::milliseconds min_hold = {}, std::chrono::milliseconds ttl = kTtl) {
    AcquireOp op(*collection_, key);
    op.grant.lock_id = id;
    op.grant.ttl = ttl;
    op.grant.min_hold = min_hold;
    op.insert = std::move(insert);
    Execute(op);
    return op;
  }
  AcquireOp Share(const Key& key, const Uuid& id, int max_holders = kMaxHolders, Body insert = {},
                  std::chrono::milliseconds ttl = kTtl) {
    AcquireOp op(*collection_, key);
    op.grant.lock_id = id;
    op.grant.ttl = ttl;
    op.grant.mode = LockMode::kShared;
    op.grant.max_holders = max_holders;
    op.insert = std::move(insert);
    Execute(op);
    return op;
  }
  RenewOp RenewShare(const Key& key, const Uuid& id) {
    RenewOp op(*collection_, key);
    op.lock_id = id;
    op.ttl = kTtl;
    op.mode = LockMode::kShared;
    Execute(op);
    return op;
  }
  WriteOp ReleaseShare(const Key& key, const Uuid& id) {
    WriteOp op(*collection_, key);
    op.lock_id = id;
    op.mode = LockMode::kShared;
    Execute(op);
    return op;
  }
  RenewOp Renew(const Key& key, const Uuid& id, std::chrono::milliseconds ttl = kTtl) {
    RenewOp op(*collection_, key);
    op.lock_id = id;
    op.ttl = ttl;
    Execute(op);
    return op;
  }
  WriteOp Write(WriteKind kind, const Key& key, const Uuid& id, std::int64_t expected = kAnyVersion,
                Body body = {}, const GrantRequest* next = nullptr) {
    WriteOp op(*collection_, key);
    op.write = kind;
    op.lock_id = id;
    op.expected = expected;
    op.body = std::move(body);
    op.merge = expected == kAnyVersion;
    op.ttl = kTtl;
    op.next = next;
    Execute(op);
    return op;
  }
  SaveOp Save(SaveKind kind, const Key& key, std::int64_t expected = kAnyVersion,
              const Uuid& born = {}, Body body = {}) {
    SaveOp op(*collection_, key);
    op.save = kind;
    op.expected = expected;
    op.born = born;
    op.write_id = NewUuid();
    op.body = std::move(body);
    Execute(op);
    return op;
  }
  ReadOp Read(const Key& key) {
    ReadOp op(*collection_, key);
    Execute(op);
    return op;
  }
  void Intervene(const Key& key, Intervention what) { store_->Intervene(*collection_, key, what); }
  void Execute(StoreOp& op) {
    const std::array<StoreOp*, 1> one{&op};
    store_->Execute(one, budget_);
  }

 private:
  std::shared_ptr<Store> store_;
  std::shared_ptr<Collection> collection_;
  std::chrono::milliseconds budget_;
};

inline Body Counted(int n) { return Body::FromJson({{"n", n}}); }

/// Why an operation ended as it did, for messages.
inline std::string Why(const StoreOp& op) {
  return std::to_string(static_cast<int>(op.status)) + " " + (op.detail ? op.detail->message : "");
}

}  // namespace doclock::mongo_test
