#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "clients/store_client.h"
#include "conformance/suite/batch.h"
#include "doclock/mongodb_store.h"
#include "doclock/store.h"
#include "doclock/testing/intervene.h"

namespace doclock::mongo_test {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kTtl = test::StoreClient::kTtl;

using conformance::Batch;
using test::Why;

class Client : public test::StoreClient {
 public:
  using StoreClient::StoreClient;

  AcquireOp Acquire(const Key& key, const Uuid& id, Body insert = {},
                    std::chrono::milliseconds min_hold = {}, std::chrono::milliseconds ttl = kTtl) {
    AcquireOp op(collection(), key);
    op.grant.lock_id = id;
    op.grant.ttl = ttl;
    op.grant.min_hold = min_hold;
    op.insert = std::move(insert);
    Execute(op);
    return op;
  }
  /// An attempt of a waiter, which leaves an entry in the queue.
  AcquireOp Wait(const Key& key, const Uuid& id, std::chrono::milliseconds queue_for = kTtl,
                 std::chrono::milliseconds min_hold = {}, bool queue_likely = false) {
    AcquireOp op(collection(), key);
    op.grant.lock_id = id;
    op.grant.ttl = kTtl;
    op.grant.min_hold = min_hold;
    op.grant.queue_for = queue_for;
    op.queue_likely = queue_likely;
    Execute(op);
    return op;
  }
  AcquireOp Share(const Key& key, const Uuid& id, int max_holders = kMaxHolders, Body insert = {},
                  std::chrono::milliseconds ttl = kTtl, std::chrono::milliseconds queue_for = {}) {
    AcquireOp op(collection(), key);
    op.grant.queue_for = queue_for;
    op.grant.lock_id = id;
    op.grant.ttl = ttl;
    op.grant.mode = LockMode::kShared;
    op.grant.max_holders = max_holders;
    op.insert = std::move(insert);
    Execute(op);
    return op;
  }
  WriteOp Write(WriteKind kind, const Key& key, const Uuid& id, std::int64_t expected = kAnyVersion,
                Body body = {}, const GrantRequest* next = nullptr) {
    WriteOp op(collection(), key);
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
    SaveOp op(collection(), key);
    op.save = kind;
    op.expected = expected;
    op.born = born;
    op.write_id = NewUuid();
    op.body = std::move(body);
    Execute(op);
    return op;
  }
  void Expire(const Key& key) { testing::ExpireLock(store(), collection().name(), key); }
  void Break(const Key& key) { testing::BreakLock(store(), collection().name(), key); }
  void Steal(const Key& key) { testing::StealLock(store(), collection().name(), key); }
};

inline Body Counted(int n) { return Body::FromJson({{"n", n}}); }

}  // namespace doclock::mongo_test
