/// Ten thousand locks held on a replica set: what renewing them costs, and what others feel of it.

#include <thread>

#include "compare.h"
#include "documents.h"
#include "mongodb_raw.h"

namespace doclock::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kHeld = 10'000;
constexpr std::size_t kSingly = 300;  ///< renewed one by one

/// Locks as a store sees them.
struct Held {
  Held(Store& store, std::shared_ptr<Collection> where) : collection(std::move(where)) {
    keys.reserve(kHeld);
    for (int i = 0; i < kHeld; ++i) keys.emplace_back(i);
    for (std::size_t from = 0; from < kHeld; from += 500) Take(store, from);
  }

  void Take(Store& store, std::size_t from) {
    std::vector<AcquireOp> acquires;
    for (std::size_t i = from; i < from + 500; ++i) {
      AcquireOp& acquire = acquires.emplace_back(*collection, keys[i]);
      acquire.grant.lock_id = NewUuid();
      acquire.grant.ttl = 1h;
      acquire.insert = SampleText(static_cast<int>(i));
    }
    std::vector<StoreOp*> ops;
    for (auto& acquire : acquires) ops.push_back(&acquire);
    store.Execute(ops, 30s);
    for (auto& acquire : acquires) {
      if (acquire.status != OpStatus::kDone) std::abort();
      RenewOp& renewal =
          renewals.emplace_back(*collection, OpKey(keys[renewals.size()], acquire.hash));
      renewal.lock_id = acquire.grant.lock_id;
      renewal.ttl = acquire.grant.ttl;
    }
  }

  /// Renewals per second of the first `count`, `batch` at a time.
  double Renew(Store& store, std::size_t count, std::size_t batch) {
    const auto start = SteadyClock::now();
    for (std::size_t from = 0; from < count; from += batch) {
      std::vector<StoreOp*> ops;
      for (std::size_t i = from; i < from + batch; ++i) ops.push_back(&renewals[i]);
      store.Execute(ops, 30s);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (renewals[i].status != OpStatus::kDone) std::abort();
    }
    return static_cast<double>(count) / Seconds(SteadyClock::now() - start).count();
  }

  std::shared_ptr<Collection> collection;
  std::vector<Key> keys;
  std::vector<RenewOp> renewals;
};

/// The floor: one by one.
void MongodbRenewals(benchmark::State& state) {
  DropMongodb();
  const auto store = OpenMongodbStore(MongodbStoreUri());
  Held held(*store, store->Open("orders", {}, 30s));
  Compare(
      state, {.value = 20}, [&] { return held.Renew(*store, kSingly, 1); },
      [&] { return held.Renew(*store, kHeld, 1000); }, 3);
}
BENCHMARK(MongodbRenewals)->Iterations(1)->Unit(benchmark::kMillisecond);

/// The longest but one in a hundred cycles of one caller, in ms.
double ForegroundP99(const LockingRepository<Saga>& repository, std::chrono::seconds time) {
  std::vector<double> took;
  const auto start = SteadyClock::now();
  for (auto before = start; before - start < time;) {
    auto held = repository.Lock({"foreground", SampleSaga(1)});
    held->attempts += 1;
    held.Release();
    const auto now = SteadyClock::now();
    took.push_back(Seconds(now - before).count() * 1000);
    before = now;
  }
  std::sort(took.begin(), took.end());
  return took[took.size() * 99 / 100];
}

/// The floor: the same caller while nothing is held.
void MongodbForegroundWhileRenewing(benchmark::State& state) {
  DropMongodb();
  LockManager manager{OpenMongodbStore(MongodbStoreUri())};
  const LockingRepository<Saga> repository{manager, "orders"};
  const LockingRepository<Small> others{manager, "held"};
  for (auto _ : state) {
    const double idle = ForegroundP99(repository, 10s);
    std::vector<Key> keys;
    for (int i = 0; i < kHeld; ++i) keys.emplace_back(i);
    std::vector<Locked<Small>> held;
    for (std::size_t from = 0; from < keys.size(); from += 500) {
      std::vector<std::jthread> callers;
      std::vector<std::optional<Locked<Small>>> some(500);
      for (std::size_t part = 0; part < 10; ++part) {
        callers.emplace_back([&, part] {
          for (std::size_t i = part; i < some.size(); i += 10) {
            some[i].emplace(others.Lock({keys[from + i], Small{}}, {.ttl = 10s}));
          }
        });
      }
      callers.clear();
      for (auto& one : some) held.push_back(std::move(*one));
    }
    const double renewing = ForegroundP99(repository, 20s);
    for (const auto& one : held) {
      if (one.lost().stop_requested()) std::abort();
    }
    Report(state, idle, renewing, renewing / idle, {.value = 2, .at_most = true});
    state.counters["held"] = static_cast<double>(held.size());
    std::vector<std::jthread> callers;
    for (std::size_t part = 0; part < 10; ++part) {
      callers.emplace_back([&, part] {
        for (std::size_t i = part; i < held.size(); i += 10) held[i].Release();
      });
    }
  }
}
BENCHMARK(MongodbForegroundWhileRenewing)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
