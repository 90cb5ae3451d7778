/// Named locks: beside locked documents, shared by many, held by the thousand, and purged.

#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "compare.h"
#include "doclock/doclock.h"
#include "mongodb_server.h"
#include "sqlite_floor.h"

namespace doclock::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// A number from the environment, for longer runs than the usual one.
int Setting(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// A store of the benchmark's own, gone with the object.
struct Place {
  virtual ~Place() = default;
  /// Another store over the same data, or the same one where that cannot be.
  virtual std::shared_ptr<Store> Open() = 0;
  /// Multiplies the existing locks by copies, for stores where many locks take long to create.
  /// False: nothing was done.
  virtual bool Multiply(int /*times*/) { return false; }
  /// The commands sent since the last call; negative if unknown.
  virtual long TakeCommands() { return -1; }
};

struct MemoryPlace : Place {
  std::shared_ptr<Store> Open() override { return store; }
  std::shared_ptr<Store> store = OpenMemoryStore();
};

struct SqlitePlace : Place {
  std::shared_ptr<Store> Open() override {
    return OpenSqliteStore(folder / "ours.db", {.sync = SqliteSync::kNormal});
  }
  TempFolder folder;
};

#ifdef DOCLOCK_WITH_MONGODB
struct MongodbPlace : Place {
  explicit MongodbPlace(const std::string& uri) : database(uri) {}
  std::shared_ptr<Store> Open() override { return database.Open(); }
  bool Multiply(int times) override {
    constexpr int kAtOnce = 20;
    for (int from = 1; from < times; from += kAtOnce) Copy(from, std::min(from + kAtOnce, times));
    return true;
  }
  /// The copies are of another form, lest they be copied too.
  void Copy(int from, int to) {
    database.Run(R"({"aggregate": "names", "cursor": {}, "pipeline": [
        {"$match": {"_id": {"$not": {"$regex": "/.*/"}}}},
        {"$set": {"n": {"$range": [)" +
                 std::to_string(from) + ", " + std::to_string(to) + R"(]}}}, {"$unwind": "$n"},
        {"$set": {"_id": {"$concat": ["$_id", "/", {"$toString": "$n"}]}}}, {"$unset": "n"},
        {"$merge": "names"}]})");
  }
  long TakeCommands() override { return database.TakeCommands(); }
  MongodbDatabase database;
};
#endif

enum StoreName : std::int64_t { kMemory, kSqlite, kMongodb };

/// Null, and the benchmark says why, when there is no such store here.
std::unique_ptr<Place> MakePlace(benchmark::State& state) {
  switch (state.range(0)) {
    case kMemory:
      return std::make_unique<MemoryPlace>();
    case kSqlite:
      return std::make_unique<SqlitePlace>();
    default:
      break;
  }
#ifdef DOCLOCK_WITH_MONGODB
  if (const auto uri = MongodbUri()) return std::make_unique<MongodbPlace>(*uri);
#endif
  state.SkipWithError("no MongoDB: DOCLOCK_BENCH_MONGODB is not set");
  return nullptr;
}

std::string NameOf(std::uint64_t n) { return "reports/" + std::to_string(n); }

/// Acquire and release beside the same with a document that has next to no body.
void NamedBesideDocuments(benchmark::State& state) {
  constexpr std::uint64_t kNames = 1000;
  const auto place = MakePlace(state);
  if (!place) return;
  LockManager manager{place->Open()};
  LockingRepository<Small> documents{manager, "documents"};
  LockProvider names{manager, "names"};
  for (std::uint64_t i = 0; i < kNames; ++i) {
    documents.Lock({NameOf(i), Small{}}).Release();
    names.Acquire(NameOf(i)).Release();
  }
  std::uint64_t n = 0;
  Compare(
      state, {.value = 0.97},
      [&] { return Rate([&] { documents.Lock(NameOf(++n * 7919 % kNames)).Release(); }); },
      [&] { return Rate([&] { names.Acquire(NameOf(++n * 7919 % kNames)).Release(); }); }, 15);
}
BENCHMARK(NamedBesideDocuments)
    ->ArgName("store")
    ->Arg(kMemory)
    ->Arg(kSqlite)
    ->Arg(kMongodb)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// One more reader comes and goes beside those that stay; the floor is a lock for one alone.
void SharedBesideExclusive(benchmark::State& state) {
  const auto place = MakePlace(state);
  if (!place) return;
  LockManager manager{place->Open()};
  LockProvider locks{manager, "names"};
  const LockOptions shared{.mode = LockMode::kShared};
  try {
    std::vector<HeldLock> readers;
    for (int i = 0; i < state.range(1); ++i) readers.push_back(locks.Acquire("shared", shared));
    Compare(
        state, {.value = 0.8}, [&] { return Rate([&] { locks.Acquire("exclusive").Release(); }); },
        [&] { return Rate([&] { locks.Acquire("shared", shared).Release(); }); });
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}
BENCHMARK(SharedBesideExclusive)
    ->ArgNames({"store", "readers"})
    ->ArgsProduct({{kMemory, kSqlite, kMongodb}, {1, 8, 64}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// Leaves this many expired locks behind. `store` is the caller's last hold on it: SQLite's
/// holders are dead once it is closed.
void LeaveExpired(std::shared_ptr<Store> store, int locks) {
  constexpr int kAtOnce = 1000;
  const auto collection = store->Open("names", {}, 30s);
  const Body nothing = Body::FromText("{}");
  for (int from = 0; from < locks; from += kAtOnce) {
    std::vector<Key> keys;
    std::vector<AcquireOp> acquires;
    keys.reserve(kAtOnce);
    for (int i = from; i < std::min(from + kAtOnce, locks); ++i) {
      AcquireOp& op = acquires.emplace_back(
          *collection, keys.emplace_back(NameOf(static_cast<std::uint64_t>(i))));
      op.request.grant.lock_id = NewUuid();
      op.request.grant.ttl = 100ms;
      op.request.insert = nothing;
    }
    std::vector<StoreOp*> ops;
    for (auto& op : acquires) ops.push_back(&op);
    store->Execute(ops, 60s);
    for (const auto& op : acquires) {
      if (op.status != OpStatus::kDone) std::abort();
    }
  }
  store.reset();
  std::this_thread::sleep_for(150ms);
}

double Percentile99(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() * 99 / 100];
}

/// Microseconds that each acquire and release took, until `stop`.
std::vector<double> Latencies(const LockProvider& locks, const std::stop_token& stop) {
  std::vector<double> all;
  for (int n = 0; !stop.stop_requested(); ++n) {
    const auto start = SteadyClock::now();
    locks.Acquire("foreground/" + std::to_string(n % 100)).Release();
    all.push_back(std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count());
  }
  return all;
}

/// The latency of the slowest callers while another process's Purge clears what many expired locks
/// left, beside what they meet without. `locks`: DOCLOCK_BENCH_EXPIRED, 200,000.
void ForegroundDuringPurge(benchmark::State& state) {
  const int expired = Setting("DOCLOCK_BENCH_EXPIRED", 200'000);
  const auto place = MakePlace(state);
  if (!place) return;
  constexpr int kTaken = 1000;
  if (expired % kTaken != 0) return state.SkipWithError("DOCLOCK_BENCH_EXPIRED: whole thousands");
  LockProvider(LockManager(place->Open()), "names").EnsureIndexes();
  LeaveExpired(place->Open(), kTaken);
  if (!place->Multiply(expired / kTaken)) LeaveExpired(place->Open(), expired);
  LockManager manager{place->Open()};
  LockManager others{place->Open()};
  const LockProvider locks{manager, "names"};
  const LockProvider purging{others, "names"};
  const auto alone = [&](std::chrono::milliseconds time) {
    std::stop_source stop;
    std::jthread timer([&] {
      std::this_thread::sleep_for(time);
      stop.request_stop();
    });
    return Latencies(locks, stop.get_token());
  };
  for (auto _ : state) {
    alone(500ms);
    std::vector<double> without = alone(3s);
    std::stop_source stop;
    PurgeResult result;
    double seconds = 0;
    std::jthread purge([&] {
      const auto start = SteadyClock::now();
      result = purging.Admin().Purge();
      seconds = Seconds(SteadyClock::now() - start).count();
      stop.request_stop();
    });
    const std::vector<double> during = Latencies(locks, stop.get_token());
    purge.join();
    const std::vector<double> after = alone(3s);
    without.insert(without.end(), after.begin(), after.end());
    if (result.expired != expired) state.SkipWithError("some expired locks were not purged");
    const double floor = Percentile99(without), ours = Percentile99(during);
    Report(state, floor, ours, ours / floor, {.value = 2, .at_most = true});
    state.counters["locks"] = expired;
    state.counters["purge_s"] = seconds;
    state.counters["median_floor"] = Median(without);
    state.counters["median_ours"] = Median(during);
    state.counters["longest_ms"] = *std::max_element(during.begin(), during.end()) / 1000;
  }
}
BENCHMARK(ForegroundDuringPurge)
    ->ArgName("store")
    ->Arg(kSqlite)
    ->Arg(kMongodb)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double AllocatedBytes() { return static_cast<double>(::mallinfo2().uordblks); }

std::vector<HeldLock> AcquireMany(const LockProvider& locks, int count,
                                  const LockOptions& options) {
  constexpr int kAtOnce = 500;
  std::vector<HeldLock> held;
  held.reserve(static_cast<std::size_t>(count));
  for (int from = 0; from < count; from += kAtOnce) {
    std::vector<std::future<HeldLock>> coming;
    for (int i = from; i < std::min(from + kAtOnce, count); ++i) {
      coming.push_back(locks.AcquireAsync(NameOf(static_cast<std::uint64_t>(i)), options));
    }
    for (auto& one : coming) held.push_back(one.get());
  }
  return held;
}

/// Ten thousand locks of one process with leases of 10 s, for DOCLOCK_BENCH_HELD_SECONDS (12): none
/// may be lost, and on MongoDB a round of renewals may take 20 commands.
void TenThousandHeld(benchmark::State& state) {
  constexpr int kHeld = 10'000;
  constexpr auto kTtl = 10s;
  constexpr double kCommandsPerRound = 20;
  const std::chrono::seconds time(Setting("DOCLOCK_BENCH_HELD_SECONDS", 12));
  const auto place = MakePlace(state);
  if (!place) return;
  LockManager manager{place->Open()};
  const LockProvider locks{manager, "names"};
  locks.Acquire("warm up").Release();
  for (auto _ : state) {
    const double bytes = AllocatedBytes();
    auto held = AcquireMany(locks, kHeld, {.ttl = kTtl});
    const double bytes_each = (AllocatedBytes() - bytes) / kHeld;
    std::this_thread::sleep_for(kTtl / 3);  // what was taken in one go is renewed in one go
    place->TakeCommands();
    const double cpu = CpuSeconds();
    std::this_thread::sleep_for(time);
    const double rounds = Seconds(time).count() / (Seconds(kTtl).count() / 3);
    const long commands = place->TakeCommands();
    const double cpu_each = (CpuSeconds() - cpu) * 1e6 / kHeld / rounds;
    long still = 0;
    for (const HeldLock& lock : held) still += lock.held();
    if (commands < 0) {
      Report(state, kHeld, static_cast<double>(still), static_cast<double>(still) / kHeld,
             {.value = 1});
    } else {
      const double each_round = static_cast<double>(commands) / rounds;
      Report(state, kCommandsPerRound, each_round, each_round / kCommandsPerRound,
             {.value = 1, .at_most = true});
    }
    state.counters["lost"] = static_cast<double>(kHeld - still);
    state.counters["bytes_each"] = bytes_each;
    state.counters["cpu_us_each_round"] = cpu_each;
    if (still != kHeld) state.SkipWithError("locks were lost");
    std::vector<std::future<void>> releases;
    for (HeldLock& lock : held) {
      if (lock.held()) releases.push_back(lock.ReleaseAsync());
    }
    for (auto& release : releases) release.get();
  }
}
BENCHMARK(TenThousandHeld)
    ->ArgName("store")
    ->Arg(kMemory)
    ->Arg(kSqlite)
    ->Arg(kMongodb)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
