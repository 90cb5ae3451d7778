#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "compare.h"
#include "doclock/store/store.h"
#include "documents.h"

namespace doclock::bench {

/// Ten thousand locks as a store sees them.
struct HeldLocks {
  static constexpr int kCount = 10'000;

  HeldLocks(Store& store, std::shared_ptr<Collection> where) : collection(std::move(where)) {
    keys.reserve(kCount);
    for (int i = 0; i < kCount; ++i) keys.emplace_back(i);
    for (std::size_t from = 0; from < kCount; from += 500) Take(store, from);
  }

  void Take(Store& store, std::size_t from) {
    std::vector<AcquireOp> acquires;
    for (std::size_t i = from; i < from + 500; ++i) {
      AcquireOp& acquire = acquires.emplace_back(*collection, keys[i]);
      acquire.request.grant.lock_id = NewUuid();
      acquire.request.grant.ttl = 1h;
      acquire.request.insert = SampleText(static_cast<int>(i));
    }
    std::vector<StoreOp*> ops;
    for (auto& acquire : acquires) ops.push_back(&acquire);
    store.Execute(ops, 30s);
    for (auto& acquire : acquires) {
      if (acquire.status != OpStatus::kDone) std::abort();
      RenewOp& renewal =
          renewals.emplace_back(*collection, OpKey(keys[renewals.size()], acquire.hash));
      renewal.request.lock_id = acquire.request.grant.lock_id;
      renewal.request.ttl = acquire.request.grant.ttl;
    }
  }

  /// Renewals per second of the first `count`, `batch` at a time.
  double Renew(Store& store, std::size_t count, std::size_t batch) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t from = 0; from < count; from += batch) {
      std::vector<StoreOp*> ops;
      for (std::size_t i = from; i < from + batch; ++i) ops.push_back(&renewals[i]);
      store.Execute(ops, 30s);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (renewals[i].status != OpStatus::kDone) std::abort();
    }
    return static_cast<double>(count) / Seconds(std::chrono::steady_clock::now() - start).count();
  }

  std::shared_ptr<Collection> collection;
  std::vector<Key> keys;
  std::vector<RenewOp> renewals;
};

}  // namespace doclock::bench
