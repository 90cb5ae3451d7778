#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doclock/lock_manager.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "repository/support/code_of.h"
#include "repository/support/stores.h"

namespace doclock {

using namespace std::chrono_literals;
using testing::ExpireLock;
using testing::Fault;
using testing::FaultyStore;
using testing::ManualClock;
using testing::StealLock;

/// One process on one thread and virtual time, over a store that can go wrong.
class VirtualTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  /// A manager as another process would have it.
  LockManager AnotherManager(ManagerOptions options = {}) {
    options.runtime = clock->runtime();
    return LockManager(store, std::move(options));
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
};

/// Real time and threads.
class ThreadsTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::shared_ptr<Store> store = GetParam().open(nullptr);
  LockManager manager{store};
};

}  // namespace doclock
