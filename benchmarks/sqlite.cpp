/// Lock + release on SQLite, one process: one caller, and many.

#include <atomic>
#include <thread>

#include "compare.h"
#include "doclock/doclock.h"
#include "sqlite_floor.h"

namespace doclock::bench {
namespace {

constexpr int kDocuments = 10'000;

/// One bare database and one store, side by side.
struct Pair {
  explicit Pair(SqliteSync sync)
      : bare(folder / "bare.db", sync, kDocuments),
        store(OpenSqliteStore(folder / "ours.db", {.sync = sync})),
        collection(store->Open("orders", {}, 30s)) {
    FillStore(*store, *collection, kDocuments);
    WarmUp();
  }
  /// Goes through both logs once. A log that still grows makes the file system write metadata with
  /// each flush, which is not what a service sees after its first second.
  void WarmUp() {
    for (int i = 0; i < kDocuments; ++i) {
      bare.Update(i, text.Next());
      StoreCycle(*store, *collection, BareUpdates::KeyOf(i), Body::FromText(text.Next()));
    }
  }
  double BareCycles() {
    int n = 0;
    return Rate([&] {
      bare.Update(n * 7919 % kDocuments, text.Next());
      bare.Update(n * 7919 % kDocuments, text.Next());
      ++n;
    });
  }
  TempFolder folder;
  BareUpdates bare;
  std::shared_ptr<Store> store;
  std::shared_ptr<Collection> collection;
  ChangingText text;
};

void SqliteThroughStore(benchmark::State& state) {
  Pair pair(static_cast<SqliteSync>(state.range(0)));
  Compare(
      state, {.value = 0.95}, [&] { return pair.BareCycles(); },
      [&] {
        int n = 0;
        return Rate([&] {
          const Key key(BareUpdates::KeyOf(n * 7919 % kDocuments));
          StoreCycle(*pair.store, *pair.collection, key, Body::FromText(pair.text.Next()));
          ++n;
        });
      });
}
BENCHMARK(SqliteThroughStore)
    ->ArgName("sync")
    ->Arg(static_cast<int>(SqliteSync::kOff))
    ->Arg(static_cast<int>(SqliteSync::kNormal))
    ->Arg(static_cast<int>(SqliteSync::kFull))
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void SqliteTypedFull(benchmark::State& state) {
  Pair pair(SqliteSync::kFull);
  LockManager manager{pair.store};
  LockingRepository<Saga> repository{manager, "orders"};
  Compare(
      state, {.value = 0.8}, [&] { return pair.BareCycles(); },
      [&] {
        int n = 0;
        return Rate([&] {
          auto held = repository.Lock(BareUpdates::KeyOf(n++ * 7919 % kDocuments));
          held->attempts += 1;
          held.Release();
        });
      });
}
BENCHMARK(SqliteTypedFull)->Iterations(1)->Unit(benchmark::kMillisecond);

double CallersRate(int callers, const std::function<void(int caller, int n)>& cycle) {
  std::atomic<long> cycles = 0;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  const auto start = std::chrono::steady_clock::now();
  for (int c = 0; c < callers; ++c) {
    threads.emplace_back([&, c] {
      for (int n = 0; !stop; ++n) {
        cycle(c, n);
        ++cycles;
      }
    });
  }
  std::this_thread::sleep_for(1s);
  stop = true;
  threads.clear();
  return static_cast<double>(cycles) / Seconds(std::chrono::steady_clock::now() - start).count();
}

/// 32 callers: a transaction per call against group commit.
void SqliteFull32Callers(benchmark::State& state) {
  constexpr int kCallers = 32;
  Pair pair(SqliteSync::kFull);
  LockManager manager{pair.store};
  LockingRepository<Saga> repository{manager, "orders"};
  const auto key = [](int caller, int n) {
    return Key(BareUpdates::KeyOf((caller * 311 + n % 300) % kDocuments));
  };
  std::mutex one_at_a_time;
  Compare(
      state, {.value = 5},
      [&] {
        return CallersRate(kCallers, [&](int caller, int n) {
          // One call per transaction, one transaction at a time: what SQLite does by itself.
          const std::scoped_lock lock(one_at_a_time);
          StoreCycle(*pair.store, *pair.collection, key(caller, n),
                     Body::FromText(pair.text.Next()));
        });
      },
      [&] {
        return CallersRate(kCallers, [&](int caller, int n) {
          auto held = repository.Lock(key(caller, n));
          held->attempts += 1;
          held.Release();
        });
      },
      3);
}
BENCHMARK(SqliteFull32Callers)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Moves an amount between two documents and adds a note, with several callers: by Update, beside
/// LockAll and a commit.
void SqliteTransfer(benchmark::State& state) {
  const auto callers = static_cast<int>(state.range(0));
  constexpr int kAccounts = 1000;
  const TempFolder folder;
  const LockManager manager{OpenSqliteStore(folder / "ours.db", {.sync = SqliteSync::kFull})};
  const LockingRepository<Saga> accounts{manager, "accounts"};
  const LockingRepository<nlohmann::json> notes{manager, "notes"};
  for (int i = 0; i < kAccounts; ++i) accounts.Insert(BareUpdates::KeyOf(i), Saga{});
  std::atomic<std::int64_t> note = 0;
  const auto two = [](int caller, int n) {
    const int from = (caller * 311 + n * 7919) % kAccounts;
    return std::pair{BareUpdates::KeyOf(from), BareUpdates::KeyOf((from + 1) % kAccounts)};
  };
  Compare(
      state, {.value = 1.5},
      [&] {
        return CallersRate(callers, [&](int caller, int n) {
          const auto keys = two(caller, n);
          auto [from, to] =
              LockAll({.wait = 10s}, accounts.At(keys.first), accounts.At(keys.second));
          --from->attempts;
          ++to->attempts;
          Transaction(manager).Release(from, to).Insert(notes, ++note, {{"n", n}}).Commit();
        });
      },
      [&] {
        return CallersRate(callers, [&](int caller, int n) {
          const auto keys = two(caller, n);
          Update(accounts.At(keys.first), accounts.At(keys.second),
                 [&](Saga& from, Saga& to, Transaction& transaction) {
                   --from.attempts;
                   ++to.attempts;
                   transaction.Insert(notes, ++note, {{"n", n}});
                 });
        });
      },
      3);
}
BENCHMARK(SqliteTransfer)
    ->ArgName("callers")
    ->Arg(1)
    ->Arg(8)
    ->Arg(32)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
