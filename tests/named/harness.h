#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doclock/lock_provider.h"
#include "doclock/memory_store.h"
#include "repository/support/fixtures.h"

namespace doclock::named {

class NamedTest : public VirtualTest {
 protected:
  /// As another process sees it.
  bool IsFree(const std::string& name) {
    return LockProvider(AnotherManager(), "jobs").TryAcquire(name).has_value();
  }
  /// Takes locks in few calls of the store, and gives them back, as if others had.
  void TakeAndRelease(const std::vector<std::string>& names) {
    Collection& collection = *store->Find("jobs");
    const std::vector<Key> keys(names.begin(), names.end());
    std::vector<AcquireOp> acquires;
    std::vector<WriteOp> releases;
    acquires.reserve(keys.size());
    releases.reserve(keys.size());
    std::vector<StoreOp*> ops;
    for (const Key& key : keys) {
      AcquireOp& op = acquires.emplace_back(collection, key);
      op.grant.lock_id = NewUuid();
      op.grant.ttl = 1min;
      op.insert = Body::FromText("{}");
      ops.push_back(&op);
    }
    store->Execute(ops, 1min);
    ops.clear();
    for (const AcquireOp& op : acquires) {
      ASSERT_EQ(op.status, OpStatus::kDone);
      WriteOp& back = releases.emplace_back(collection, OpKey(*op.key, op.hash));
      back.lock_id = op.grant.lock_id;
      back.expected = op.version;
      ops.push_back(&back);
    }
    store->Execute(ops, 1min);
    for (const WriteOp& op : releases) ASSERT_EQ(op.status, OpStatus::kDone);
  }

  LockProvider jobs{manager, "jobs"};
};

class NamedThreadsTest : public ThreadsTest {
 protected:
  LockProvider jobs{manager, "jobs"};
};

/// The text of the std::invalid_argument that `f` throws.
template <class F>
std::string RefusalOf(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace doclock::named
