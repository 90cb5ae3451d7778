/// Lock and release on PostgreSQL, beside SELECT ... FOR UPDATE: documents of the callers' own, and
/// one that all take turns with. And the renewal of ten thousand locks.

#include <array>
#include <atomic>
#include <functional>

#include "children.h"
#include "held_locks.h"
#include "load.h"
#include "postgresql_raw.h"

namespace doclock::bench {
namespace {

constexpr auto kTime = 1000ms;

double ForUpdateRate(const std::string& url, int callers, bool one_document) {
  const auto make = [&](int me) {
    auto cycles = std::make_shared<ForUpdateCycles>(url, one_document ? 0 : me);
    return [cycles] { cycles->Run(); };
  };
  return Drive(callers, make, kTime).rate;
}

double OurRate(const LockingRepository<Saga>& repository, int callers, bool one_document) {
  const auto make = [&](int me) {
    auto cycles = std::make_shared<OurCycles>(repository, one_document ? 0 : me);
    return [cycles] { cycles->Run(); };
  };
  return Drive(callers, make, kTime).rate;
}

void CompareCycles(benchmark::State& state, Target target, const std::string& url, int callers,
                   bool one_document) {
  const LockManager manager{OpenPostgresqlStore(url)};
  const LockingRepository<Saga> repository{manager, "orders"};
  Compare(
      state, target, [&] { return ForUpdateRate(url, callers, one_document); },
      [&] { return OurRate(repository, callers, one_document); }, 5);
}

void PostgresqlCycles(benchmark::State& state) {
  const PostgresqlSchema schema;
  const int callers = static_cast<int>(state.range(0));
  CompareCycles(state, {.value = callers < 100 ? 0.7 : 2.0}, schema.url(), callers, false);
}
BENCHMARK(PostgresqlCycles)
    ->ArgName("callers")
    ->Arg(1)
    ->Arg(8)
    ->Arg(100)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// The server is 2 ms away.
void PostgresqlFarCycles(benchmark::State& state) {
  const PostgresqlSchema schema;
  const FarPostgresql far(schema.url(), 2ms);
  CompareCycles(state, {.value = 1.5}, far.url(), 32, false);
}
BENCHMARK(PostgresqlFarCycles)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Eight threads take turns.
void PostgresqlHotDocument(benchmark::State& state) {
  const PostgresqlSchema schema;
  CompareCycles(state, {.value = 0.9}, schema.url(), 8, true);
}
BENCHMARK(PostgresqlHotDocument)->Iterations(1)->Unit(benchmark::kMillisecond);

constexpr std::size_t kProcesses = 8;

struct Crowd {
  std::atomic<std::size_t> ready = 0;
  std::atomic<bool> go = false;
  std::array<std::atomic<long>, kProcesses> cycles{};
};

struct Turns {
  double rate = 0;
  double jain = 0;
};

/// Each process makes a cycle, and runs it again and again.
Turns RunProcesses(const std::function<std::function<void()>()>& make) {
  Children<Crowd> children;
  for (std::size_t me = 0; me < kProcesses; ++me) {
    children.Start([&, me](Crowd& crowd) {
      const auto cycle = make();
      cycle();
      ++crowd.ready;
      while (!crowd.go) std::this_thread::sleep_for(1ms);
      const auto end = std::chrono::steady_clock::now() + 2 * kTime;
      for (; std::chrono::steady_clock::now() < end; ++crowd.cycles[me]) cycle();
    });
  }
  Crowd& crowd = children.shared();
  while (crowd.ready < kProcesses) std::this_thread::sleep_for(1ms);
  crowd.go = true;
  children.Join();
  Turns turns;
  std::vector<double> shares;
  for (const auto& cycles : crowd.cycles) {
    shares.push_back(static_cast<double>(cycles) / Seconds(2 * kTime).count());
    turns.rate += shares.back();
  }
  turns.jain = Jain(shares);
  return turns;
}

/// What one process needs.
struct OurProcess {
  explicit OurProcess(const PostgresqlSchema& schema)
      : manager(OpenPostgresqlStore(schema.url())) {}
  LockManager manager;
  LockingRepository<Saga> repository{manager, "orders"};
  OurCycles cycles{repository, 0};
  void Run() { cycles.Run(); }
};

template <class Process>
std::function<void()> CycleOf(std::shared_ptr<Process> process) {
  return [process] { process->Run(); };
}

/// Eight processes take turns. Jain's index is ours.
void PostgresqlHotProcesses(benchmark::State& state) {
  const PostgresqlSchema schema;
  double jain = 1;
  const auto floor = [&] {
    return RunProcesses([&] { return CycleOf(std::make_shared<ForUpdateCycles>(schema.url(), 0)); })
        .rate;
  };
  const auto ours = [&] {
    const Turns turns = RunProcesses([&] { return CycleOf(std::make_shared<OurProcess>(schema)); });
    jain = std::min(jain, turns.jain);
    return turns.rate;
  };
  Compare(state, {.value = 0.4}, floor, ours, 3);
  state.counters["jain"] = jain;
}
BENCHMARK(PostgresqlHotProcesses)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Renewals per second; the floor is the rate that is to be reached.
void PostgresqlRenewals(benchmark::State& state) {
  const PostgresqlSchema schema;
  const auto store = OpenPostgresqlStore(schema.url());
  HeldLocks held(*store, store->Open("orders", {}, 30s));
  Compare(
      state, {.value = 1}, [] { return 15'000.0; },
      [&] { return held.Renew(*store, HeldLocks::kCount, 1000); }, 5);
}
BENCHMARK(PostgresqlRenewals)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
