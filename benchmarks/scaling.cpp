/// What a deployment makes: cycles of lock and release, waiters, documents. There are no floors
/// here. docs/reference/performance.md shows the figures, and scaling_model.py predicts them from
/// round trip and flush, which are measured too.

#include <fcntl.h>
#include <malloc.h>

#include <array>
#include <future>
#include <optional>
#include <random>

#include "children.h"
#include "cpu_time.h"
#include "delayed_port.h"
#include "doclock/doclock.h"
#include "load.h"
#include "mongodb_raw.h"
#include "postgresql_raw.h"
#include "sqlite_floor.h"

namespace doclock::bench {
namespace {

constexpr auto kTime = 1500ms;
constexpr auto kFar = 2000us;

/// Where documents are, gone with the object.
struct Place {
  virtual ~Place() = default;
  virtual std::shared_ptr<Store> Open() { return OpenStore(url); }
  /// A round trip; null: there is none.
  virtual std::function<void()> Ping() { return nullptr; }
  std::string url;
};
using MakePlace = std::function<std::unique_ptr<Place>()>;

struct MemoryPlace : Place {
  std::shared_ptr<Store> Open() override { return store; }
  std::shared_ptr<Store> store = OpenMemoryStore();
};

struct SqlitePlace : Place {
  explicit SqlitePlace(const std::string& sync) {
    url = "sqlite:" + (folder / "ours.db").string() + "?sync=" + sync;
  }
  TempFolder folder;
};

/// `round_trip` is added to what there is.
struct PostgresqlPlace : Place {
  explicit PostgresqlPlace(std::chrono::microseconds round_trip) {
    url = schema.url();
    if (round_trip != 0us) url = far.emplace(url, round_trip).url();
  }
  std::function<void()> Ping() override {
    return [raw = std::make_shared<RawPostgresql>(url)] { raw->Run("SELECT 1"); };
  }
  PostgresqlSchema schema;
  std::optional<FarPostgresql> far;
};

struct MongodbPlace : Place {
  explicit MongodbPlace(std::chrono::microseconds round_trip) {
    DropMongodb();
    url = MongodbStoreUri();
    if (round_trip == 0us) return;
    RawMongo("admin").Run(mongodb::Doc::Of("hello", 1), [&](const bson_t& reply) {
      bson_iter_t primary;
      if (!bson_iter_init_find(&primary, &reply, "primary")) std::abort();
      const std::string address = bson_iter_utf8(&primary, nullptr);
      delayed.emplace(std::stoi(address.substr(address.rfind(':') + 1)), round_trip);
    });
    url = "mongodb://127.0.0.1:" + std::to_string(delayed->port()) + "/" + kMongodbName +
          "?directConnection=true";
  }
  std::function<void()> Ping() override {
    return
        [raw = std::make_shared<RawMongo>("admin", url)] { raw->Run(mongodb::Doc::Of("ping", 1)); };
  }
  std::optional<DelayedPort> delayed;
};

/// The mean, for rates follow from it.
double Milliseconds(const std::function<void()>& op) { return 1000 / Rate(op); }

void RoundTrip(benchmark::State& state, const MakePlace& make) {
  const auto place = make();
  const auto ping = place->Ping();
  ping();
  for (auto _ : state) state.counters["ms"] = Milliseconds(ping);
}

/// 8 KB written over what is there, as a database writes its log.
void Flush(benchmark::State& state) {
  const TempFolder folder;
  const int file = ::open((folder / "log").c_str(), O_RDWR | O_CREAT, 0600);
  std::array<char, 8192> block{};
  constexpr int kBlocks = 1024;
  const auto write = [&](int i) {
    block[0] = static_cast<char>(i);
    if (::pwrite(file, block.data(), block.size(), i % kBlocks * 8192L) < 0) std::abort();
  };
  for (int i = 0; i < kBlocks; ++i) write(i);
  ::fsync(file);
  int at = 0;
  for (auto _ : state) {
    state.counters["ms"] = Milliseconds([&] {
      write(at++);
      ::fdatasync(file);
    });
  }
  ::close(file);
}

/// Callers of one process.
void Cycles(benchmark::State& state, const MakePlace& make, int callers, bool hot) {
  const auto place = make();
  const LockManager manager{place->Open()};
  const LockingRepository<Saga> repository{manager, "orders"};
  const auto own = [&](int me) {
    auto cycles = std::make_shared<OurCycles>(repository, me);
    return [cycles] { cycles->Run(); };
  };
  const auto cycle = [&](int me) { return own(hot ? 0 : me); };
  Drive(32, own, 500ms);  // a log that still grows makes each flush dearer
  std::vector<double> rates, medians, processor;
  for (auto _ : state) {
    for (int i = 0; i < Rounds(5); ++i) {
      const double before = CpuMicroseconds();
      const Load load = Drive(callers, cycle, kTime);
      const double used = CpuMicroseconds() - before;
      rates.push_back(load.rate);
      medians.push_back(load.p50_ms);
      processor.push_back(used / static_cast<double>(load.cycles));
    }
  }
  state.counters["rate"] = Median(rates);
  state.counters["low"] = *std::min_element(rates.begin(), rates.end());
  state.counters["high"] = *std::max_element(rates.begin(), rates.end());
  state.counters["p50_ms"] = Median(medians);
  state.counters["client_us"] = Median(processor);
}

struct Crowd {
  std::atomic<int> ready = 0;
  std::atomic<bool> go = false;
  std::atomic<long> cycles = 0;
};

/// One document, and processes of one caller each that take turns.
double ProcessesRate(const Place& place, int processes) {
  Children<Crowd> children;
  for (int me = 0; me < processes; ++me) {
    children.Start([&](Crowd& crowd) {
      const LockManager manager{OpenStore(place.url)};
      const LockingRepository<Saga> repository{manager, "orders"};
      OurCycles cycle(repository, 0);
      cycle.Run();
      ++crowd.ready;
      while (!crowd.go) std::this_thread::sleep_for(1ms);
      const auto end = std::chrono::steady_clock::now() + kTime;
      for (; std::chrono::steady_clock::now() < end; ++crowd.cycles) cycle.Run();
    });
  }
  while (children.shared().ready < processes) std::this_thread::sleep_for(1ms);
  children.shared().go = true;
  children.Join();
  return static_cast<double>(children.shared().cycles) / Seconds(kTime).count();
}

void Processes(benchmark::State& state, const MakePlace& make, int processes) {
  const auto place = make();
  ProcessesRate(*place, processes);  // the log grows
  std::vector<double> rates;
  for (auto _ : state) {
    for (int i = 0; i < Rounds(5); ++i) rates.push_back(ProcessesRate(*place, processes));
  }
  state.counters["rate"] = Median(rates);
  state.counters["low"] = *std::min_element(rates.begin(), rates.end());
  state.counters["high"] = *std::max_element(rates.begin(), rates.end());
}

/// Eight callers, each on any of the documents.
void Documents(benchmark::State& state, const MakePlace& make, int documents) {
  const auto place = make();
  const auto store = place->Open();
  FillStore(*store, *store->Open("orders", {}, 30s), documents);
  const LockManager manager{store};
  const LockingRepository<Saga> repository{manager, "orders"};
  const auto cycle = [&](int me) {
    auto random = std::make_shared<std::minstd_rand>(static_cast<unsigned>(me + 1));
    return [&repository, random, documents] {
      const auto n = static_cast<int>((*random)() % static_cast<unsigned>(documents));
      auto held = repository.Lock(BareUpdates::KeyOf(n), {.wait = 60s});
      held->attempts += 1;
      held.Release();
    };
  };
  std::vector<double> rates;
  for (auto _ : state) {
    for (int i = 0; i < Rounds(5); ++i) rates.push_back(Drive(8, cycle, kTime).rate);
  }
  state.counters["rate"] = Median(rates);
}

/// Ten thousand asynchronous callers wait, `each` of them for one document; then each has its turn.
void Waiters(benchmark::State& state, int each) {
  constexpr int kWaiters = 10'000;
  const LockManager manager{OpenMemoryStore()};
  const LockingRepository<Small> repository{manager, "orders"};
  for (auto _ : state) {
    std::vector<Locked<Small>> held;
    for (int i = 0; i < kWaiters / each; ++i) held.push_back(repository.Lock({Key(i), Small{}}));
    std::atomic<int> granted = 0;
    const std::size_t before = ::mallinfo2().uordblks;
    for (int i = 0; i < kWaiters; ++i) {
      repository.LockAsync(Key(i / each), {.wait = 1h},
                           [&granted](const std::exception_ptr&, Locked<Small>) { ++granted; });
    }
    std::this_thread::sleep_for(1s);  // all of them are in their queues
    state.counters["bytes"] = static_cast<double>(::mallinfo2().uordblks - before) / kWaiters;
    const auto start = std::chrono::steady_clock::now();
    held.clear();
    while (granted < kWaiters) std::this_thread::sleep_for(1ms);
    state.counters["rate"] = kWaiters / Seconds(std::chrono::steady_clock::now() - start).count();
  }
}

void Once(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->Iterations(1)->Unit(benchmark::kMillisecond);
}

template <class P, class... Argument>
MakePlace At(Argument... argument) {
  return [=] { return std::make_unique<P>(argument...); };
}

const bool registered = [] {
  using std::string;
  std::vector<std::pair<string, MakePlace>> places = {{"sqlite", At<SqlitePlace>("full")},
                                                      {"sqlite_normal", At<SqlitePlace>("normal")}};
  if (std::getenv("DOCLOCK_BENCH_POSTGRESQL") != nullptr) {
    places.emplace_back("postgresql", At<PostgresqlPlace>(0us));
    places.emplace_back("postgresql_far", At<PostgresqlPlace>(kFar));
  }
  if (std::getenv("DOCLOCK_BENCH_MONGODB") != nullptr) {
    places.emplace_back("mongodb", At<MongodbPlace>(0us));
    places.emplace_back("mongodb_far", At<MongodbPlace>(kFar));
  }
  // First, for they fork this process.
  for (const auto& [name, make] : places) {
    Once(name + "/processes:8", [make = make](auto& state) { Processes(state, make, 8); });
  }
  places.emplace_back("memory", At<MemoryPlace>());
  for (const auto& [name, make] : places) {
    // For each, because other programs use the disk too.
    if (name != "memory") Once(name + "/flush", Flush);
    if (name.starts_with("postgresql") || name.starts_with("mongodb")) {
      Once(name + "/round_trip", [make = make](auto& state) { RoundTrip(state, make); });
    }
    for (const int callers : {1, 8, 32, 100}) {
      Once(name + "/callers:" + std::to_string(callers),
           [make = make, callers](auto& state) { Cycles(state, make, callers, false); });
    }
    Once(name + "/hot:8", [make = make](auto& state) { Cycles(state, make, 8, true); });
  }
  for (const int each : {1, 100, 10'000}) {
    Once("waiters:" + std::to_string(each), [each](auto& state) { Waiters(state, each); });
  }
  // Last, for they leave a large heap behind, in which malloc searches.
  for (const auto& [name, make] : places) {
    if (name.ends_with("far") || name == "sqlite_normal") continue;
    for (const int documents : {1000, name == "mongodb" ? 100'000 : 1'000'000}) {
      Once(name + "/documents:" + std::to_string(documents),
           [make = make, documents](auto& state) { Documents(state, make, documents); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace doclock::bench
