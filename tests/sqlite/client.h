#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "doclock/sqlite_store.h"
#include "doclock/store.h"

namespace doclock::sqlite_test {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kBudget = 10s;

/// Short ways to call a store, one operation each.
class Client {
 public:
  explicit Client(std::shared_ptr<Store> store, const std::string& collection = "things")
      : store_(std::move(store)), collection_(store_->Open(collection, {}, 30s)) {}
  explicit Client(const std::filesystem::path& file, SqliteStoreOptions options = {})
      : Client(OpenSqliteStore(file, std::move(options))) {}

  [[nodiscard]] Store& store() const noexcept { return *store_; }
  [[nodiscard]] Collection& collection() const noexcept { return *collection_; }

  AcquireOp Acquire(const Key& key, std::chrono::milliseconds ttl = 30s, Body insert = {},
                    bool detached = false) {
    AcquireOp op(*collection_, key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = ttl;
    op.grant.detached = detached;
    op.insert = std::move(insert);
    Execute(op);
    return op;
  }
  /// Makes the document if it is missing.
  AcquireOp Create(const Key& key, const std::string& body = "{}") {
    return Acquire(key, 30s, Body::FromText(body));
  }
  /// A share of a document, which is made if it is missing.
  AcquireOp Share(const Key& key, int max_holders = kMaxHolders,
                  std::chrono::milliseconds ttl = 30s, bool detached = false) {
    AcquireOp op(*collection_, key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = ttl;
    op.grant.detached = detached;
    op.grant.mode = LockMode::kShared;
    op.grant.max_holders = max_holders;
    op.insert = Body::FromText("{}");
    Execute(op);
    return op;
  }
  RenewOp RenewShare(const Key& key, const Uuid& lock_id, std::chrono::milliseconds ttl = 30s) {
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
  /// An exclusive attempt that leaves an intent.
  AcquireOp Want(const Key& key, const Uuid& intent_id, std::chrono::milliseconds intent = 5s) {
    AcquireOp op(*collection_, key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    op.grant.intent_id = intent_id;
    op.grant.intent = intent;
    Execute(op);
    return op;
  }
  RenewOp Renew(const Key& key, const Uuid& lock_id, std::chrono::milliseconds ttl = 30s,
                bool detached = false) {
    RenewOp op(*collection_, key);
    op.lock_id = lock_id;
    op.ttl = ttl;
    op.detached = detached;
    Execute(op);
    return op;
  }
  WriteOp Write(WriteKind kind, const Key& key, const Uuid& lock_id, Body body = {},
                std::int64_t expected = kAnyVersion, bool merge = false) {
    WriteOp op(*collection_, key);
    op.write = kind;
    op.lock_id = lock_id;
    op.expected = expected;
    op.body = std::move(body);
    op.merge = merge;
    op.ttl = 30s;
    Execute(op);
    return op;
  }
  WriteOp Release(const Key& key, const AcquireOp& held, Body body = {}) {
    return Write(WriteKind::kRelease, key, held.grant.lock_id, std::move(body), held.version);
  }
  SaveOp Insert(const Key& key, const std::string& body = "{}") {
    SaveOp op(*collection_, key);
    op.save = SaveKind::kInsert;
    op.write_id = NewUuid();
    op.body = Body::FromText(body);
    Execute(op);
    return op;
  }
  ReadOp Read(const Key& key) {
    ReadOp op(*collection_, key);
    Execute(op);
    return op;
  }
  void Execute(StoreOp& op, std::chrono::milliseconds budget = kBudget) {
    StoreOp* const one[] = {&op};
    store_->Execute(one, budget);
  }

 private:
  std::shared_ptr<Store> store_;
  std::shared_ptr<Collection> collection_;
};

/// Why an operation failed, for messages.
inline std::string Why(const StoreOp& op) {
  return std::to_string(static_cast<int>(op.status)) + " " + (op.detail ? op.detail->message : "");
}

}  // namespace doclock::sqlite_test
