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

#include "doclock/doclock.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/intervene.h"
#include "doclock/testing/manual_clock.h"
#include "repository/support/code_of.h"
#include "repository/support/entities.h"
#include "repository/support/stores.h"

namespace doclock {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ExpireLock;
using testing::Fault;
using testing::FaultyStore;
using testing::ManualClock;
using testing::StealLock;

/// One process on one thread and virtual time, over a store that can go wrong.
class RepositoryTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  /// A manager as another process would have it.
  LockManager AnotherManager() { return LockManager(store, {.runtime = clock->runtime()}); }

  /// The stored document; empty if there is none.
  template <class K>
  std::optional<json> Stored(const K& key, const std::string& collection = "sagas") {
    auto found = LockingRepository<json>(manager, collection).Find(Key(key));
    if (!found) return std::nullopt;
    return **found;
  }
  bool IsLocked(const Key& key, const std::string& collection = "sagas") {
    return LockingRepository<json>(manager, collection).Find(key).value().locked();
  }
  std::int64_t Version(const Key& key, const std::string& collection = "sagas") {
    return LockingRepository<json>(manager, collection).Find(key).value().version();
  }
  void Put(const Key& key, const json& body, const std::string& collection = "sagas") {
    LockingRepository<json>(manager, collection).Insert(key, body);
  }
  /// Runs the process, so much time at most, until the result is there.
  template <class R>
  R Get(std::future<R> future, Duration timeout = 1min) {
    clock->RunPending();
    if (future.wait_for(0s) != std::future_status::ready) clock->Advance(timeout);
    if (future.wait_for(0s) != std::future_status::ready) throw std::logic_error("no result");
    return future.get();
  }
  int Writes() { return store->Count(OpKind::kWrite) + store->Count(OpKind::kSave); }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(GetParam().open(clock));
  LockManager manager = AnotherManager();
  LockingRepository<Saga> sagas{manager, "sagas"};
};

/// Real time and threads.
class ThreadsTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::shared_ptr<Store> store = GetParam().open(nullptr);
  LockManager manager{store};
};

}  // namespace doclock
