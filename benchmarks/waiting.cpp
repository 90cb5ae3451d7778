/// Waiting: how soon the next holder has the lock, and many waiters on one document.

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "children.h"
#include "compare.h"
#include "doclock/doclock.h"
#include "sqlite_floor.h"

namespace doclock::bench {
namespace {

constexpr int kPings = 2000;

double Microseconds(TimePoint from, TimePoint to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

/// Two threads, each waiting for the other: `turn(me)` returns once it is this thread's turn, and
/// `pass(me)` gives the turn away. Returns the median time from passing on to the other's start.
template <class Turn, class Pass>
double PingPong(Turn turn, Pass pass) {
  std::vector<double> latencies;
  std::atomic<std::int64_t> stamp = 0;
  std::atomic<int> last = -1;
  std::mutex mutex;
  const auto play = [&](int me) {
    for (int i = 0; i < kPings; ++i) {
      turn(me);
      const auto now = BootClock::now();
      if (last == 1 - me) {
        const std::scoped_lock lock(mutex);
        latencies.push_back(Microseconds(TimePoint(std::chrono::nanoseconds(stamp)), now));
      }
      last = me;
      std::this_thread::sleep_for(150us);  // the other one is waiting by now
      stamp = BootClock::now().time_since_epoch().count();
      pass(me);
    }
  };
  std::jthread other(play, 1);
  play(0);
  other.join();
  return Median(latencies);
}

double ConditionVariablePing() {
  std::mutex mutex;
  std::condition_variable changed;
  int whose = 0;
  return PingPong(
      [&](int me) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return whose == me; });
      },
      [&](int me) {
        {
          const std::scoped_lock lock(mutex);
          whose = 1 - me;
        }
        changed.notify_one();
      });
}

double HandOverPing() {
  LockManager manager{OpenMemoryStore()};
  LockingRepository<Small> repository{manager, "orders"};
  repository.Lock({"a", Small{}}).Release();
  std::optional<Locked<Small>> held[2];
  return PingPong([&](int me) { held[me].emplace(repository.Lock("a", {.wait = kForever})); },
                  [&](int me) {
                    held[me]->Release();
                    held[me].reset();
                  });
}

void HandOverSameProcess(benchmark::State& state) {
  Compare(state, {.value = 1.2, .at_most = true}, ConditionVariablePing, HandOverPing, 3);
}
BENCHMARK(HandOverSameProcess)->Iterations(1)->Unit(benchmark::kMillisecond);

struct Board {
  std::atomic<int> ready = 0;
  std::atomic<std::int64_t> stamp = 0;
  std::atomic<int> last = -1;
  std::atomic<int> count = 0;
  double latencies[2 * kPings] = {};
};

/// One side of a game between processes, as PingPong plays it between threads.
template <class Turn, class Pass>
void Play(Board& board, int me, Turn turn, Pass pass) {
  ++board.ready;
  while (board.ready < 2) ::usleep(1000);
  for (int i = 0; i < kPings / 2; ++i) {
    turn();
    const auto now = BootClock::now();
    if (board.last == 1 - me) {
      board.latencies[board.count++] =
          Microseconds(TimePoint(std::chrono::nanoseconds(board.stamp)), now);
    }
    board.last = me;
    ::usleep(1000);
    board.stamp = BootClock::now().time_since_epoch().count();
    pass();
    ::usleep(50);  // let the other one have it
  }
}

double MedianOf(Board& board) {
  return Median(std::vector<double>(board.latencies, board.latencies + board.count));
}

/// The file doorbell: a write to a file that the other process watches with inotify.
double DoorbellPing() {
  const TempFolder folder;
  Children<Board> children;
  const std::filesystem::path bells[] = {folder / "0", folder / "1"};
  for (const auto& bell : bells) ::close(::open(bell.c_str(), O_CREAT | O_RDWR, 0600));
  for (int me = 0; me < 2; ++me) {
    children.Start([&, me](Board& board) {
      const int watch = ::inotify_init1(IN_CLOEXEC);
      ::inotify_add_watch(watch, bells[me].c_str(), IN_MODIFY);
      const int ring = ::open(bells[1 - me].c_str(), O_RDWR);
      char events[4096];
      bool mine = me == 0;
      Play(
          board, me,
          [&] {
            if (!std::exchange(mine, false)) {
              pollfd ready{.fd = watch, .events = POLLIN, .revents = 0};
              if (::poll(&ready, 1, 2000) == 1) [[maybe_unused]]
                auto n = ::read(watch, events, sizeof events);
            }
          },
          [&] { [[maybe_unused]] auto n = ::pwrite(ring, "x", 1, 0); });
    });
  }
  children.Join();
  return MedianOf(children.shared());
}

double OtherProcessPing() {
  const TempFolder folder;
  const auto file = folder / "ours.db";
  Children<Board> children;
  for (int me = 0; me < 2; ++me) {
    children.Start([&, me](Board& board) {
      LockManager manager{OpenSqliteStore(file, {.sync = SqliteSync::kNormal})};
      LockingRepository<Small> repository{manager, "orders"};
      std::optional<Locked<Small>> held;
      const Small fresh;
      Play(
          board, me,
          [&] {
            held.emplace(repository.Lock({"a", fresh}, {.wait = kForever}));
          },
          [&] {
            held->Release();
            held.reset();
          });
    });
  }
  children.Join();
  return MedianOf(children.shared());
}

void HandOverOtherProcessSqlite(benchmark::State& state) {
  Compare(state, {.value = 3, .at_most = true}, DoorbellPing, OtherProcessPing, 3);
}
BENCHMARK(HandOverOtherProcessSqlite)->Iterations(1)->Unit(benchmark::kMillisecond);

struct Contest {
  double acquisitions = 0;  ///< Per second.
  double ideal = 0;         ///< One over the hold, as it really was.
  double jain = 0;
};

/// Some threads want one document, hold it for a millisecond, and want it again.
template <class Take>
Contest Contend(int waiters, std::chrono::seconds time, Take take) {
  std::vector<double> counts(static_cast<std::size_t>(waiters));
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> held_ns = 0;
  std::vector<std::jthread> threads;
  const auto start = std::chrono::steady_clock::now();
  for (int w = 0; w < waiters; ++w) {
    threads.emplace_back([&, w] {
      while (!stop) {
        auto lock = take(stop);
        if (!lock) continue;
        const auto from = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(1ms);
        held_ns += (std::chrono::steady_clock::now() - from).count();
        lock->Release();
        counts[static_cast<std::size_t>(w)] += 1;
      }
    });
  }
  std::this_thread::sleep_for(time);
  stop = true;
  const double seconds = Seconds(std::chrono::steady_clock::now() - start).count();
  double total = 0;
  for (const double count : counts) total += count;
  const Contest result = {total / seconds, total / (static_cast<double>(held_ns) / 1e9),
                          Jain(counts)};
  threads.clear();
  return result;
}

void WaitersOnOneDocument(benchmark::State& state) {
  const int waiters = static_cast<int>(state.range(0));
  for (auto _ : state) {
    LockManager manager{OpenMemoryStore()};
    LockingRepository<Small> repository{manager, "orders"};
    repository.Lock({"a", Small{}}).Release();
    const Contest ours = Contend(waiters, 4s, [&](std::atomic<bool>&) {
      return std::optional(repository.Lock("a", {.wait = kForever}));
    });
    const Contest poller = Contend(waiters, 4s, [&](std::atomic<bool>& stop) {
      thread_local std::minstd_rand random(std::random_device{}());
      std::optional<Locked<Small>> held;
      while (!stop && !(held = repository.TryLock("a"))) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 790));
      }
      return held;
    });
    Report(state, ours.ideal, ours.acquisitions, ours.acquisitions / ours.ideal, {.value = 0.95});
    state.counters["jain"] = ours.jain;
    state.counters["poller"] = poller.acquisitions;
    state.counters["poller_jain"] = poller.jain;
  }
}
BENCHMARK(WaitersOnOneDocument)
    ->ArgName("waiters")
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
