/// Several processes write one SQLite file: total, fairness, and the longest any of them waited.

#include <array>
#include <atomic>

#include "children.h"
#include "compare.h"
#include "doclock/doclock.h"
#include "sqlite_floor.h"

namespace doclock::bench {
namespace {

constexpr int kMaxProcesses = 4;
constexpr auto kTime = 10s;

struct Board {
  std::atomic<int> ready = 0;
  std::atomic<bool> go = false;
  std::array<std::atomic<long>, kMaxProcesses> cycles{};
  std::array<std::atomic<long>, kMaxProcesses> longest_us{};
};

struct Result {
  double total = 0;
  double jain = 0;
  double longest_ms = 0;
};

void Work(Board& board, const std::filesystem::path& file, int me) {
  LockManager manager{OpenSqliteStore(file)};
  LockingRepository<Saga> repository{manager, "orders"};
  const Saga fresh = SampleSaga(me);
  const auto key = [me](int n) { return Key(me * 1000 + n % 200); };
  for (int n = 0; n < 200; ++n) repository.Lock({key(n), fresh}).Release();
  ++board.ready;
  while (!board.go) ::usleep(1000);
  const auto start = std::chrono::steady_clock::now();
  auto before = start;
  for (int n = 0; before - start < kTime; ++n) {
    auto held = repository.Lock(key(n));
    held->attempts += 1;
    held.Release();
    const auto now = std::chrono::steady_clock::now();
    const long took = std::chrono::duration_cast<std::chrono::microseconds>(now - before).count();
    if (took > board.longest_us[static_cast<std::size_t>(me)])
      board.longest_us[static_cast<std::size_t>(me)] = took;
    ++board.cycles[static_cast<std::size_t>(me)];
    before = now;
  }
}

Result Run(int processes) {
  const TempFolder folder;
  const auto file = folder / "ours.db";
  Children<Board> children;
  for (int me = 0; me < processes; ++me) {
    children.Start([&, me](Board& board) { Work(board, file, me); });
  }
  Board& board = children.shared();
  while (board.ready < processes) ::usleep(1000);
  board.go = true;
  children.Join();
  Result result;
  std::vector<double> shares;
  for (std::size_t me = 0; me < static_cast<std::size_t>(processes); ++me) {
    shares.push_back(static_cast<double>(board.cycles[me]) / Seconds(kTime).count());
    result.total += shares.back();
    result.longest_ms =
        std::max(result.longest_ms, static_cast<double>(board.longest_us[me]) / 1000);
  }
  result.jain = Jain(shares);
  return result;
}

void SqliteProcessesFull(benchmark::State& state) {
  const int processes = static_cast<int>(state.range(0));
  for (auto _ : state) {
    const Result one = Run(1);
    const Result many = Run(processes);
    Report(state, one.total, many.total, many.total / one.total, {.value = 0.85});
    state.counters["jain"] = many.jain;
    state.counters["longest_ms"] = many.longest_ms;
  }
}
BENCHMARK(SqliteProcessesFull)
    ->ArgName("processes")
    ->Arg(2)
    ->Arg(4)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
