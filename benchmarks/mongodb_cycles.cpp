/// Lock and release on a replica set: one caller, many on documents of their own, many on one.

#include "compare.h"
#include "documents.h"
#include "load.h"
#include "mongodb_raw.h"

namespace doclock::bench {
namespace {

Load RawLoad(int callers, std::chrono::milliseconds time) {
  return Drive(
      callers, [](int me) { return [cycles = std::make_shared<RawCycles>(me)] { cycles->Run(); }; },
      time);
}

Load OurLoad(const LockingRepository<Saga>& repository, int callers, bool one_document,
             std::chrono::milliseconds time) {
  return Drive(
      callers,
      [&](int me) {
        const Key key(one_document ? 0 : me);
        return [&repository, key, fresh = SampleSaga(me)] {
          auto held = repository.Lock({key, fresh}, {.wait = 60s});
          held->attempts += 1;
          held.Release();
        };
      },
      time);
}

/// `floor` and ours in turn. The p99 of a cycle is told beside the rate.
void CompareLoads(benchmark::State& state, Target target, const std::function<Load()>& floor,
                  const std::function<Load()>& ours, int rounds) {
  std::vector<double> floor_p99s, our_p99s, commands;
  Compare(
      state, target,
      [&] {
        const Load load = floor();
        floor_p99s.push_back(load.p99_ms);
        return load.rate;
      },
      [&] {
        const std::int64_t before = CommandsSoFar({"update", "findAndModify", "find"});
        const Load load = ours();
        commands.push_back(
            static_cast<double>(CommandsSoFar({"update", "findAndModify", "find"}) - before) /
            static_cast<double>(load.cycles));
        our_p99s.push_back(load.p99_ms);
        return load.rate;
      },
      rounds);
  state.counters["floor_p99_ms"] = Median(floor_p99s);
  state.counters["p99_ms"] = Median(our_p99s);
  state.counters["p99_ratio"] = Median(our_p99s) / Median(floor_p99s);
  state.counters["commands_each"] = Median(commands);
}

/// The floor: two raw majority updates per cycle, each caller with a connection of its own.
void MongodbCycles(benchmark::State& state) {
  const int callers = static_cast<int>(state.range(0));
  DropMongodb();
  LockManager manager{OpenMongodbStore(MongodbStoreUri())};
  const LockingRepository<Saga> repository{manager, "orders"};
  const auto time = callers < 100 ? 2000ms : 4000ms;
  CompareLoads(
      state, {.value = callers < 100 ? 0.95 : 1.7}, [&] { return RawLoad(callers, time); },
      [&] { return OurLoad(repository, callers, false, time); }, 5);
}
BENCHMARK(MongodbCycles)
    ->ArgName("callers")
    ->Arg(1)
    ->Arg(8)
    ->Arg(100)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// Eight callers take turns. The floor: lock and release as two majority writes, without waiters.
void MongodbHotDocument(benchmark::State& state) {
  DropMongodb();
  LockManager manager{OpenMongodbStore(MongodbStoreUri())};
  const LockingRepository<Saga> repository{manager, "orders"};
  CompareLoads(
      state, {.value = 1.7}, [&] { return RawLoad(1, 2000ms); },
      [&] { return OurLoad(repository, 8, true, 2000ms); }, 5);
}
BENCHMARK(MongodbHotDocument)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Eight workers look for any document that is free. The floor: one worker, as if searches stood in
/// a line, of which one asks.
void MongodbSearches(benchmark::State& state) {
  DropMongodb();
  LockManager manager{OpenMongodbStore(MongodbStoreUri())};
  const LockingRepository<Saga> repository{manager, "jobs"};
  for (int i = 0; i < 64; ++i) repository.Insert(i, SampleSaga(i));
  const auto load = [&](int workers) {
    return Drive(
        workers,
        [&](int) {
          return [&repository] {
            auto job = repository.LockNext({}, {.wait = 60s});
            job->attempts += 1;
            job.Release();
          };
        },
        2000ms);
  };
  CompareLoads(
      state, {.value = 2}, [&] { return load(1); }, [&] { return load(8); }, 5);
}
BENCHMARK(MongodbSearches)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
