#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doclock/lock_provider.h"
#include "doclock/memory_store.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/intervene.h"
#include "doclock/testing/manual_clock.h"
#include "repository/support/code_of.h"
#include "repository/support/stores.h"

namespace doclock::named {

using namespace std::chrono_literals;
using testing::ExpireLock;
using testing::Fault;
using testing::FaultyStore;
using testing::ManualClock;
using testing::StealLock;

/// One process on one thread and virtual time, over a store that can go wrong.
class NamedTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  /// A manager as another process would have it.
  LockManager AnotherManager(ManagerOptions options = {}) {
    options.runtime = clock->runtime();
    return LockManager(store, std::move(options));
  }
  /// As another process sees it.
  bool IsFree(const std::string& name) {
    return LockProvider(AnotherManager(), "jobs").TryAcquire(name).has_value();
  }
  /// Did the store find what the test made, as far as its time allows?
  static bool IsNear(std::chrono::milliseconds found, std::chrono::milliseconds expected) {
    return std::chrono::abs(found - expected) <= GetParam().slack;
  }
  /// Takes locks in few calls of the store, and gives them back if asked: as if others had.
  void TakeMany(const std::vector<std::string>& names, bool release) {
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
    if (!release) return;
    store->Execute(ops, 1min);
    for (const WriteOp& op : releases) ASSERT_EQ(op.status, OpStatus::kDone);
  }
  /// Runs the process, so much time at most, until the result is there.
  template <class R>
  R Get(std::future<R> future, Duration timeout = 1min) {
    clock->RunPending();
    if (future.wait_for(0s) != std::future_status::ready) clock->Advance(timeout);
    if (future.wait_for(0s) != std::future_status::ready) throw std::logic_error("no result");
    return future.get();
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(GetParam().open(clock));
  LockManager manager = AnotherManager();
  LockProvider jobs{manager, "jobs"};
};

/// Real time and threads.
class NamedThreadsTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::shared_ptr<Store> store = GetParam().open(nullptr);
  LockManager manager{store};
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
