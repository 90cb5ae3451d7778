/// Ten thousand locks held on a replica set: what renewing them costs, and what others feel of it.

#include <thread>

#include "compare.h"
#include "documents.h"
#include "held_locks.h"
#include "mongodb_raw.h"

namespace doclock::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kHeld = HeldLocks::kCount;
constexpr std::size_t kSingly = 300;  ///< renewed one by one

/// The floor: one by one.
void MongodbRenewals(benchmark::State& state) {
  DropMongodb();
  const auto store = OpenMongodbStore(MongodbStoreUri());
  HeldLocks held(*store, store->Open("orders", {}, 30s));
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
