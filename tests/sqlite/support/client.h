#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "clients/store_client.h"
#include "doclock/sqlite_store.h"
#include "doclock/store.h"

namespace doclock::sqlite_test {

using namespace std::chrono_literals;

using test::Why;

inline constexpr std::chrono::milliseconds kBudget = test::StoreClient::kBudget;

class Client : public test::StoreClient {
 public:
  using StoreClient::StoreClient;
  explicit Client(const std::filesystem::path& file, SqliteStoreOptions options = {})
      : StoreClient(OpenSqliteStore(file, std::move(options))) {}

  AcquireOp Acquire(const Key& key, std::chrono::milliseconds ttl = 30s, Body insert = {},
                    bool detached = false) {
    AcquireOp op(collection(), key);
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
    AcquireOp op(collection(), key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = ttl;
    op.grant.detached = detached;
    op.grant.mode = LockMode::kShared;
    op.grant.max_holders = max_holders;
    op.insert = Body::FromText("{}");
    Execute(op);
    return op;
  }
  /// An exclusive attempt that leaves an entry in the queue.
  AcquireOp Queue(const Key& key, const Uuid& lock_id, std::chrono::milliseconds queue_for = 20s,
                  std::chrono::milliseconds ttl = 30s, bool detached = false) {
    AcquireOp op(collection(), key);
    op.grant.lock_id = lock_id;
    op.grant.ttl = ttl;
    op.grant.detached = detached;
    op.grant.queue_for = queue_for;
    Execute(op);
    return op;
  }
  WriteOp Leave(const Key& key, const Uuid& lock_id) {
    return Write(WriteKind::kLeave, key, lock_id);
  }
  WriteOp Write(WriteKind kind, const Key& key, const Uuid& lock_id, Body body = {},
                std::int64_t expected = kAnyVersion, bool merge = false) {
    WriteOp op(collection(), key);
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
    SaveOp op(collection(), key);
    op.save = SaveKind::kInsert;
    op.write_id = NewUuid();
    op.body = Body::FromText(body);
    Execute(op);
    return op;
  }
};

}  // namespace doclock::sqlite_test
