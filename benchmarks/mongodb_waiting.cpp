/// Waiting on a replica set: how soon another process sees a release, and many processes on one
/// document.

#include <array>
#include <atomic>
#include <random>
#include <semaphore>
#include <thread>

#include "children.h"
#include "compare.h"
#include "documents.h"
#include "mongodb_raw.h"
#include "release_seen.h"

namespace doclock::bench {
namespace {

constexpr int kPolls = 15;

// ---------------------------------------------------------------- a release seen elsewhere

/// A majority write, and its event in another process.
double RawEvent() {
  DropMongodb();
  Children<Board> children;
  children.Start([](Board& board) {
    RawMongo raw;
    mongoc_collection_t* const orders =
        mongoc_client_get_collection(raw.client(), kMongodbName, "orders");
    mongodb::Doc pipeline;
    pipeline.AddArray("pipeline", mongodb::Doc());
    mongoc_change_stream_t* const stream = mongoc_collection_watch(orders, pipeline.get(), nullptr);
    const bson_t* event = nullptr;
    mongoc_change_stream_next(stream, &event);  // opens it
    Watch(
        board, kReleases, [&] { Until([&] { return mongoc_change_stream_next(stream, &event); }); },
        [] {});
    mongoc_change_stream_destroy(stream);
    mongoc_collection_destroy(orders);
  });
  RawMongo raw;
  int count = 0;
  const double median = Play(
      children.shared(), kReleases, [] {},
      [&] {
        raw.Run(RawUpdate("orders", mongodb::Doc::Of("_id", 1),
                          mongodb::Doc::Of("$set", mongodb::Doc::Of("n", ++count)), true));
      });
  children.Join();
  return median;
}

/// The side of the holder, in this process, once the others have been started.
double PlayHolder(Children<Board>& children, int rounds) {
  LockManager manager{OpenMongodbStore(MongodbStoreUri())};
  LockingRepository<Small> repository{manager, "orders"};
  std::optional<Locked<Small>> held;
  const double median = Play(
      children.shared(), rounds,
      [&] {
        held.emplace(repository.Lock({"a", Small{}}, {.wait = 10s}));
      },
      [&] {
        held->Release();
        held.reset();
      });
  children.Join();
  return median;
}

/// `take` is how the waiter gets the lock.
double OurRelease(int rounds, const std::function<Locked<Small>(LockingRepository<Small>&)>& take) {
  DropMongodb();
  Children<Board> children;
  children.Start([&](Board& board) {
    LockManager manager{OpenMongodbStore(MongodbStoreUri())};
    LockingRepository<Small> repository{manager, "orders"};
    repository.Lock({"other", Small{}}).Release();
    std::optional<Locked<Small>> held;
    Watch(
        board, rounds, [&] { held.emplace(take(repository)); },
        [&] {
          held->Release();
          held.reset();
        });
  });
  return PlayHolder(children, rounds);
}

double WaiterTakes() {
  return OurRelease(kReleases, [](auto& orders) { return orders.Lock("a", {.wait = kForever}); });
}

/// A caller that asks every 10 to 800 ms.
double PollerTakes() {
  return OurRelease(kPolls, [random = Random(7)](auto& orders) mutable {
    for (;;) {
      if (auto held = orders.TryLock("a")) return std::move(*held);
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 790));
    }
  });
}

/// Until the store of the other process hints that the lock may be free.
double HintComes() {
  DropMongodb();
  Children<Board> children;
  children.Start([](Board& board) {
    const auto store = OpenMongodbStore(MongodbStoreUri());
    const auto orders = store->Open("orders", {}, 30s);
    std::counting_semaphore<> hinted(0);
    const auto subscription = store->Watch(*orders, [&](auto) { hinted.release(); });
    std::this_thread::sleep_for(1s);  // until the stream surely runs
    const auto wait = [&] {
      while (hinted.try_acquire()) continue;  // of what was before
      hinted.acquire();
    };
    Watch(board, kReleases, wait, [] {});
  });
  return PlayHolder(children, kReleases);
}

/// The floor of both: a majority write and the change event of it.
void MongodbReleaseSeen(benchmark::State& state) {
  Compare(state, {.value = 1.5, .at_most = true}, RawEvent, HintComes, 3);
}
BENCHMARK(MongodbReleaseSeen)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Until Lock returns there, for which the event brings the document.
void MongodbReleaseTaken(benchmark::State& state) { Compare(state, {}, RawEvent, WaiterTakes, 3); }
BENCHMARK(MongodbReleaseTaken)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Beside a poller: one twentieth of its time at most.
void MongodbReleaseTakenAgainstPoller(benchmark::State& state) {
  for (auto _ : state) {
    const double poller = PollerTakes();
    const double ours = WaiterTakes();
    Report(state, poller, ours, ours / poller, {.value = 0.05, .at_most = true});
  }
}
BENCHMARK(MongodbReleaseTakenAgainstPoller)->Iterations(1)->Unit(benchmark::kMillisecond);

// ---------------------------------------------------------------- many processes, one document

constexpr int kProcesses = 8;
constexpr int kCallers = 8;
constexpr auto kTime = 10s;
constexpr auto kHold = 1ms;

struct Crowd {
  std::atomic<int> ready = 0;
  std::atomic<bool> go = false;
  std::array<std::atomic<long>, kProcesses * kCallers> turns{};
};

struct Turns {
  double rate = 0;      ///< hand-overs per second
  double jain = 0;      ///< between all callers
  double commands = 0;  ///< per hand-over
  double events = 0;    ///< getMore commands per hand-over
};

/// Each caller of each process calls the function that `make` gives it: it holds the lock once.
template <class MakeProcess>
Turns Measure(MakeProcess make) {
  DropMongodb();
  Children<Crowd> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.Start([&, process](Crowd& crowd) {
      auto caller = make();
      std::vector<std::jthread> threads;
      for (int i = 0; i < kCallers; ++i) {
        threads.emplace_back([&, me = static_cast<std::size_t>(process * kCallers + i)] {
          auto turn = caller(static_cast<int>(me));
          ++crowd.ready;
          Until([&] { return crowd.go.load(); });
          const auto start = std::chrono::steady_clock::now();
          while (std::chrono::steady_clock::now() - start < kTime) {
            turn();
            if (std::chrono::steady_clock::now() - start < kTime) ++crowd.turns[me];
          }
        });
      }
    });
  }
  Crowd& crowd = children.shared();
  Until([&] { return crowd.ready == kProcesses * kCallers; });
  const auto commands = [] { return CommandsSoFar({"update", "findAndModify", "find"}); };
  const auto events = [] { return CommandsSoFar({"getMore"}); };
  const std::int64_t commands_before = commands();
  const std::int64_t events_before = events();
  crowd.go = true;
  std::this_thread::sleep_for(kTime);
  const std::int64_t commands_after = commands();
  const std::int64_t events_after = events();
  children.Join();
  std::vector<double> shares;
  double sum = 0;
  for (const auto& turns : crowd.turns) {
    shares.push_back(static_cast<double>(turns));
    sum += shares.back();
  }
  return {.rate = sum / Seconds(kTime).count(),
          .jain = Jain(shares),
          .commands = static_cast<double>(commands_after - commands_before) / sum,
          .events = static_cast<double>(events_after - events_before) / sum};
}

Turns OurTurns() {
  return Measure([] {
    auto manager = std::make_shared<LockManager>(OpenMongodbStore(MongodbStoreUri()));
    auto orders = std::make_shared<LockingRepository<Small>>(*manager, "orders");
    return [manager, orders](int) {
      return [orders] {
        auto held = orders->Lock({"a", Small{}}, {.wait = 60s});
        std::this_thread::sleep_for(kHold);
        held.Release();
      };
    };
  });
}

/// A lock as people write it by hand: an update where it is free, else again after 50 to 150 ms.
class HandmadeLock {
 public:
  explicit HandmadeLock(int me) : random_(static_cast<unsigned>(me) + 1) {
    mongodb::Doc taken;
    taken.Add("$set", mongodb::Doc::Of("holder", me));
    take_.Add("findAndModify", "floor")
        .Add("query", mongodb::Doc::Of("_id", 1).Add("holder", -1))
        .Add("update", taken)
        .Add("writeConcern", Majority());
    free_ = RawUpdate("floor", mongodb::Doc::Of("_id", 1).Add("holder", me),
                      mongodb::Doc::Of("$set", mongodb::Doc::Of("holder", -1)));
    raw_.Run(RawUpdate("floor", mongodb::Doc::Of("_id", 1),
                       mongodb::Doc::Of("$setOnInsert", mongodb::Doc::Of("holder", -1)), true));
  }

  void Turn() {
    while (!Try()) std::this_thread::sleep_for(std::chrono::milliseconds(50 + random_() % 100));
    std::this_thread::sleep_for(kHold);
    raw_.Run(free_);
  }

 private:
  bool Try() {
    bool taken = false;
    raw_.Run(take_, [&](const bson_t& reply) {
      bson_t value;
      taken = mongodb::FindDocument(reply, "value", value);
    });
    return taken;
  }

  RawMongo raw_;
  Random random_;
  mongodb::Doc take_, free_;
};

Turns HandmadeTurns() {
  return Measure([] {
    return [](int me) { return [lock = std::make_shared<HandmadeLock>(me)] { lock->Turn(); }; };
  });
}

/// The peer: each caller polls every 100 ms, more or less.
void MongodbManyProcesses(benchmark::State& state) {
  for (auto _ : state) {
    const Turns peer = HandmadeTurns();
    const Turns ours = OurTurns();
    Report(state, peer.rate, ours.rate, ours.rate / peer.rate, {.value = 1.5});
    state.counters["jain"] = ours.jain;
    state.counters["commands_each"] = ours.commands;
    state.counters["events_each"] = ours.events;
    state.counters["peer_jain"] = peer.jain;
    state.counters["peer_commands_each"] = peer.commands;
  }
}
BENCHMARK(MongodbManyProcesses)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
