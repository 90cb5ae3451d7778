/// Lock + release over a million documents in memory.

#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_map>

#include "compare.h"
#include "doclock/doclock.h"
#include "documents.h"
#include "engine/calls/batcher.h"

namespace doclock::bench {
namespace {

constexpr int kDocuments = 1'000'000;

std::string KeyText(int n) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-0000-4000-8000-%012x",
                static_cast<unsigned>(n) * 2654435761U, static_cast<unsigned>(n));
  return text;
}

const std::vector<Key>& Keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> made;
    made.reserve(kDocuments);
    for (int i = 0; i < kDocuments; ++i) made.emplace_back(KeyText(i));
    return made;
  }();
  return keys;
}

/// Mutex, find, write: twice, as a lock and a release do at the very least.
struct Floor {
  struct Value {
    std::int64_t word = 0;
    char rest[56] = {};
  };
  std::mutex mutex;
  std::unordered_map<std::string, Value> values;

  Floor() {
    values.reserve(kDocuments);
    for (int i = 0; i < kDocuments; ++i) values.emplace(KeyText(i), Value{});
  }
  static Floor& Instance() {
    static Floor floor;
    return floor;
  }
  void Cycle(const std::string& key) {
    for (int i = 0; i < 2; ++i) {
      const std::scoped_lock lock(mutex);
      values.find(key)->second.word += 1;
    }
  }
};

struct Ours {
  std::shared_ptr<Store> store = OpenMemoryStore();
  std::shared_ptr<Runtime> runtime = MakeRuntime(1);
  std::shared_ptr<detail::Batcher> batcher =
      std::make_shared<detail::Batcher>(store, *runtime, 10s);
  std::shared_ptr<Collection> collection = store->Open("documents", {}, 30s);

  Ours() {
    const Body body = Body::FromJson({{"step", "new"}, {"attempts", 0}, {"due", 1}});
    for (const Key& key : Keys()) Cycle(key, body);
  }
  static Ours& Instance() {
    static Ours ours;
    return ours;
  }
  void Cycle(const Key& key, const Body& insert) {
    AcquireOp acquire(*collection, key);
    acquire.request.grant.lock_id = NewUuid();
    acquire.request.grant.ttl = 30s;
    acquire.request.insert = insert;
    batcher->Execute(acquire);
    // Another thread holds this very document: with two threads about one cycle in a million.
    if (acquire.status == OpStatus::kBusy) return;
    WriteOp release(*collection, {key, acquire.hash});
    release.request.lock_id = acquire.request.grant.lock_id;
    release.request.expected = acquire.result.version;
    release.request.body = std::move(acquire.result.body);
    batcher->Execute(release);
    if (release.status != OpStatus::kDone) std::abort();
  }
};

/// Runs `op(random)` on some threads at once; the rate of all together.
template <class Op>
double ThreadedRate(int threads, Op op) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t * 77 + 1));
      rates[static_cast<std::size_t>(t)] = Rate([&] { op(random); });
    });
  }
  running.clear();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

std::size_t Pick(std::minstd_rand& random) { return random() % kDocuments; }

double OursRate(int threads) {
  Ours& ours = Ours::Instance();
  return ThreadedRate(threads, [&](auto& random) { ours.Cycle(Keys()[Pick(random)], {}); });
}

void MemoryThroughBatcherAndStore(benchmark::State& state) {
  Floor& floor = Floor::Instance();
  Ours::Instance();
  Compare(
      state, {.value = 0.35},
      [&] {
        return ThreadedRate(1, [&](auto& random) {
          floor.Cycle(std::get<std::string>(Keys()[Pick(random)].value()));
        });
      },
      [] { return OursRate(1); });
}
BENCHMARK(MemoryThroughBatcherAndStore)->Iterations(1)->Unit(benchmark::kMillisecond);

template <class T>
void TypedCycles(benchmark::State& state, const T& entity) {
  Floor& floor = Floor::Instance();
  LockManager manager{OpenMemoryStore()};
  LockingRepository<T> repository{manager, "documents"};
  for (int i = 0; i < 100'000; ++i)
    repository.Lock({Keys()[static_cast<std::size_t>(i)], entity}).Release();
  Compare(
      state, {},
      [&] {
        return ThreadedRate(1, [&](auto& random) {
          floor.Cycle(std::get<std::string>(Keys()[Pick(random)].value()));
        });
      },
      [&] {
        return ThreadedRate(1, [&](auto& random) {
          auto held = repository.Lock(Keys()[random() % 100'000]);
          held->attempts += 1;
          held.Release();
        });
      });
}

void MemoryTypedThreeFields(benchmark::State& state) { TypedCycles(state, Small{"new", 0, 1}); }
BENCHMARK(MemoryTypedThreeFields)->Iterations(1)->Unit(benchmark::kMillisecond);

void MemoryTypedOneKilobyte(benchmark::State& state) { TypedCycles(state, SampleSaga(1)); }
BENCHMARK(MemoryTypedOneKilobyte)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Entities with times, options, enumerations and variants, beside plain ones of the same content.
void MemoryEverydayTypesBesidePlain(benchmark::State& state) {
  LockManager manager{OpenMemoryStore()};
  const auto rate = [](const auto& repository) {
    return Rate([&] {
      auto held = repository.Lock("a");
      held->attempts += 1;
      held.Release();
    });
  };
  const LockingRepository<Plain> plain{manager, "plain"};
  const LockingRepository<Everyday> everyday{manager, "everyday"};
  plain.Insert("a", Plain{});
  everyday.Insert("a", Everyday{});
  Compare(
      state, {}, [&] { return rate(plain); }, [&] { return rate(everyday); });
}
BENCHMARK(MemoryEverydayTypesBesidePlain)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
