/// Many threads over all verbs for a while, with a store that goes wrong, managers that close and
/// functions that throw. At no time has a lock two holders, and no increment is lost.

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>

#include "doclock/held_lock.h"
#include "doclock/lock_provider.h"
#include "process/temp_folder.h"
#include "repository/support/harness.h"

#if DOCLOCK_WITH_SQLITE
#include "doclock/stores/sqlite.h"
#endif

namespace doclock::soak {
namespace {

constexpr int kThreads = 30;
constexpr int kKeys = 5;
constexpr Duration kTtl = 2s;

/// An exception of a user's function.
struct Tired : std::runtime_error {
  Tired() : std::runtime_error("tired") {}
};

struct Counter {
  std::string id;
  std::int64_t n = 0;
  LockFields lock{};
};
// NOLINTNEXTLINE(readability-identifier-naming): nlohmann's name
void to_json(json& out, const Counter& counter) { out = {{"id", counter.id}, {"n", counter.n}}; }
// NOLINTNEXTLINE(readability-identifier-naming)
void from_json(const json& in, Counter& counter) {
  in.at("id").get_to(counter.id);
  in.at("n").get_to(counter.n);
}

}  // namespace
}  // namespace doclock::soak

template <>
struct doclock::EntityTraits<doclock::soak::Counter>
    : doclock::DefaultEntityTraits<doclock::soak::Counter> {
  static constexpr auto kLockFields = &doclock::soak::Counter::lock;
};

namespace doclock::soak {
namespace {

using Random = std::minstd_rand;

int Pick(Random& random, int less_than) {
  return std::uniform_int_distribution(0, less_than - 1)(random);
}

/// The highest fence that was granted for one lock so far.
class Witness {
 public:
  /// Was the lock granted to no other caller while this grant was held?
  template <class Held>
  void Check(const Held& held) {
    const std::int64_t fence = held.fence();
    std::int64_t highest = highest_.load();
    while (highest < fence && !highest_.compare_exchange_weak(highest, fence)) {
    }
    std::this_thread::yield();
    highest = highest_.load();
    const bool still = held.held();
    EXPECT_TRUE(!still || highest == fence) << "two holders";
  }

 private:
  std::atomic<std::int64_t> highest_ = 0;
};

/// One document: what was said of the increments of its counter.
struct Ledger {
  std::atomic<std::int64_t> done = 0, unknown = 0;
  Witness witness;
};

/// As the processes of an application: a manager, and what is made with it.
struct Process {
  explicit Process(const std::shared_ptr<Store>& store)
      : manager(store, {.call_budget = 2s, .poll_max = 200ms, .drain_timeout = 1s}),
        counters(manager, "counters", {.ttl = kTtl}),
        names(manager, "names", {.ttl = kTtl}) {}
  LockManager manager;
  LockingRepository<Counter> counters;
  LockProvider names;
  SharedNamedMutex mutex = names.SharedMutex("mutex");
};

class SoakTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  static std::chrono::milliseconds Length() {
    const char* const seconds = std::getenv("DOCLOCK_SOAK_SECONDS");
    return std::chrono::milliseconds(1000 * (seconds ? std::atoi(seconds) : 5) / 2);
  }
  std::shared_ptr<Process> Any(Random& random) {
    const std::scoped_lock lock(mutex_);
    return processes_[static_cast<std::size_t>(Pick(random, 2))];
  }
  void Replace(std::size_t which) {
    auto fresh = std::make_shared<Process>(store);
    std::shared_ptr<Process> old;
    {
      const std::scoped_lock lock(mutex_);
      old = std::exchange(processes_[which], fresh);
    }
    old->manager.Close();
  }

  /// Counts what a verb says of one increment: was it done? (Other errors mean that nothing was
  /// written.)
  template <class F>
  static bool Count(Ledger& ledger, F&& increment) {
    try {
      increment();
      ++ledger.done;
      return true;
    } catch (const InDoubtException&) {
      ++ledger.unknown;
    } catch (const Error&) {
    } catch (const Tired&) {
    }
    return false;
  }
  static void MayThrow(Random& random) {
    if (Pick(random, 20) == 0) throw Tired();
  }
  /// A handle's own increment: each write of it is told by itself.
  void Raise(Ledger& ledger, Locked<Counter> counter, Random& random) {
    ledger.witness.Check(counter);
    MayThrow(random);
    if (Pick(random, 4) == 0) {
      ++counter->n;
      const auto save = [&] { Pick(random, 2) == 0 ? counter.Save() : counter.SaveAsync().get(); };
      if (!Count(ledger, save)) --counter->n;
      if (!counter.held()) return;
    }
    ++counter->n;
    Count(ledger, [&] {
      switch (Pick(random, 3)) {
        case 0:
          return counter.Release();
        case 1:
          return counter.ReleaseAsync().get();
        default:
          throw Tired();  // the handle gives it back
      }
    });
  }

  void RaiseOwn(Locked<Counter> counter, Random& random) {
    Ledger& ledger = ledgers_[std::stoul(counter->id)];
    Raise(ledger, std::move(counter), random);
  }

  void OneVerb(Random& random);
  /// Is there time left, or a counter that was never raised?
  [[nodiscard]] bool GoesOn() const {
    return std::chrono::steady_clock::now() < end_ ||
           std::any_of(ledgers_.begin(), ledgers_.end(),
                       [](const Ledger& ledger) { return ledger.done == 0; });
  }
  void Work(int seed) {
    Random random(static_cast<unsigned>(seed));
    while (GoesOn()) {
      try {
        OneVerb(random);
      } catch (const Error&) {
      } catch (const Tired&) {
      } catch (const std::system_error&) {
      }
    }
  }
  /// The store goes wrong, and managers close.
  void Disturb() {
    Random random(7);
    constexpr std::array kKinds = {Fault::Kind::kErrorBefore, Fault::Kind::kRefused,
                                   Fault::Kind::kLostBefore, Fault::Kind::kLostAfter,
                                   Fault::Kind::kThrow};
    for (int i = 1; GoesOn(); ++i) {
      std::this_thread::sleep_for(5ms);
      store->Inject({.kind = kKinds[static_cast<std::size_t>(Pick(random, kKinds.size()))],
                     .skip = Pick(random, 10)});
      if (i % 100 == 0) Replace(static_cast<std::size_t>(Pick(random, 2)));
    }
    store->Heal();
  }

  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(GetParam().open(nullptr));
  std::array<Ledger, kKeys> ledgers_;
  std::array<Witness, kKeys> names_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + Length();

 private:
  std::mutex mutex_;  ///< Guards what follows.
  std::array<std::shared_ptr<Process>, 2> processes_ = {std::make_shared<Process>(store),
                                                        std::make_shared<Process>(store)};

 protected:
  const std::shared_ptr<Process> last_ = std::make_shared<Process>(store);
};

void SoakTest::OneVerb(Random& random) {
  const std::shared_ptr<Process> process = Any(random);
  const LockingRepository<Counter>& counters = process->counters;
  const LockProvider& names = process->names;
  const auto index = static_cast<std::size_t>(Pick(random, kKeys));
  const std::string key = std::to_string(index);
  Ledger& ledger = ledgers_[index];
  const auto wait = std::chrono::milliseconds(Pick(random, 100));
  const auto increment = [&](Counter& counter) {
    ++counter.n;
    MayThrow(random);
  };
  switch (Pick(random, 20)) {
    case 0:
      return Raise(ledger, counters.Lock(key, {.wait = wait}), random);
    case 1:
      return Raise(ledger, counters.LockAsync(key, {.wait = wait}).get(), random);
    case 2:
      if (auto counter = counters.TryLock(key)) Raise(ledger, std::move(*counter), random);
      return;
    case 3: {
      auto counter = counters.LockNext(Filter().AtLeast("n", 0), {.wait = wait});
      return RaiseOwn(std::move(counter), random);
    }
    case 4: {
      auto counter = counters.LockNextAsync(Filter().Equal("id", key), {.wait = wait}).get();
      return Raise(ledger, std::move(counter), random);
    }
    case 5:
    case 6: {
      const std::string other = std::to_string((index + 1) % kKeys);
      auto both = Pick(random, 2) == 0 ? counters.LockAll({key, other}, {.wait = wait})
                                       : counters.LockAllAsync({key, other}, {.wait = wait}).get();
      for (auto& counter : both) RaiseOwn(std::move(counter), random);
      return;
    }
    case 7:
      Count(ledger, [&] { counters.With(key, increment, {.wait = wait}); });
      return;
    case 8:
      Count(ledger, [&] { counters.Update(key, increment); });
      return;
    case 9:
      Count(ledger, [&] { counters.UpdateAsync(key, increment).get(); });
      return;
    case 10: {
      auto found = counters.Find(key);
      ++(*found)->n;
      Count(ledger, [&] {
        if (!counters.TrySave(*found)) throw Tired();
      });
      return;
    }
    case 11:
      counters.ForEach(Filter(), [&](Snapshot<Counter>&) { MayThrow(random); });
      return;
    case 12: {  // cancelled at some time
      boost::asio::io_context io;
      boost::asio::cancellation_signal signal;
      counters.LockAsync(
          key, {.wait = 1s},
          boost::asio::bind_cancellation_slot(
              signal.slot(),
              boost::asio::bind_executor(io, [](std::exception_ptr, const Locked<Counter>&) {})));
      std::this_thread::sleep_for(std::chrono::microseconds(Pick(random, 500)));
      signal.emit(boost::asio::cancellation_type::terminal);
      io.run();
      return;
    }
    case 13:
      names_[index].Check(names.Acquire(key, {.wait = wait}));
      return;
    case 14: {
      auto held = names.AcquireAsync(key, {.wait = wait}).get();
      held.RenewAsync().get();
      names_[index].Check(held);
      Pick(random, 2) == 0 ? held.Release() : held.ReleaseAsync().get();
      return;
    }
    case 15: {
      auto all = names.AcquireAll({key, "x" + key}, {.wait = wait});
      names_[index].Check(all[key == all[0].name() ? 0 : 1]);
      return;
    }
    case 16:
      (void)names.TryAcquire("shared", {.mode = LockMode::kShared, .max_holders = 3});
      return;
    case 17: {
      const std::unique_lock alone(process->mutex, wait);
      MayThrow(random);
      return;
    }
    case 18: {
      const std::shared_lock share(process->mutex, wait);
      MayThrow(random);
      return;
    }
    default:
      (void)counters.FindAsync(key).get();
      (void)names.Admin().Status();
  }
}

TEST_P(SoakTest, OneHolderAndNoLostIncrement) {
  for (int i = 0; i < kKeys; ++i) last_->counters.Insert(Counter{std::to_string(i)});
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([this] { Disturb(); });
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { Work(i); });
  }
  store->Heal();
  for (int i = 0; i < kKeys; ++i) {
    const Ledger& ledger = ledgers_[static_cast<std::size_t>(i)];
    SCOPED_TRACE("counter " + std::to_string(i) + ": " + std::to_string(ledger.done) + " done, " +
                 std::to_string(ledger.unknown) + " unknown");
    // Whatever a closed manager left is over with its lease.
    const auto counter = last_->counters.Lock(std::to_string(i), {.wait = 1min});
    EXPECT_GE(counter->n, ledger.done);
    EXPECT_LE(counter->n, ledger.done + ledger.unknown);
    EXPECT_TRUE(last_->names.TryAcquire(std::to_string(i), {.wait = 1min}));
  }
  EXPECT_TRUE(last_->mutex.try_lock_for(1min));
}
std::vector<StoreKind> SoakedStores() {
  std::vector<StoreKind> stores = AllStores();
#if DOCLOCK_WITH_SQLITE
  stores.push_back({"Sqlite", [](std::shared_ptr<const Clock>) {
                      static const test::TempFolder folder;
                      static int count = 0;
                      return OpenSqliteStore(folder / (std::to_string(++count) + ".db"),
                                             {.sync = SqliteSync::kOff});
                    }});
#endif
  return stores;
}
INSTANTIATE_TEST_SUITE_P(Stores, SoakTest, ::testing::ValuesIn(SoakedStores()), NameOf);

}  // namespace
}  // namespace doclock::soak
