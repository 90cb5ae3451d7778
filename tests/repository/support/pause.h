#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "doclock/testing/faulty_store.h"

namespace doclock::test {

/// Runs `meanwhile` before a worker's call of the store of this number (from 1), as if the worker
/// was paused there. Returns the worker's store, and counts on.
inline std::shared_ptr<Store> PausedAt(std::shared_ptr<Store> store, int number,
                                       std::function<void()> meanwhile) {
  auto paused = std::make_shared<testing::FaultyStore>(std::move(store));
  auto calls = std::make_shared<std::atomic<int>>(0);
  paused->OnExecute([=, meanwhile = std::move(meanwhile)](std::span<StoreOp* const>) {
    if (++*calls == number) meanwhile();
  });
  return paused;
}

}  // namespace doclock::test
