/// The user's own code may throw wherever the library calls it: the verb tells of it once, what is
/// stored is as it was, and nothing stays locked.

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <functional>
#include <map>

#include "doclock/observer.h"
#include "repository/support/harness.h"

namespace doclock {
namespace throwing_test {
namespace {

/// The exception of a Touchy.
struct Sprung : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Counts the calls of the user's code, and lets one of them throw.
class Trap {
 public:
  void SetAt(int which) {
    calls_ = 0;
    which_ = which;
  }
  void Disarm() { which_ = -1; }
  void Touch(const char* place) {
    if (which_ >= 0 && calls_++ == which_) throw Sprung(place);
  }
  [[nodiscard]] bool sprung() const { return calls_ > which_; }

 private:
  int calls_ = 0;
  int which_ = -1;
};
Trap trap;

/// All of its traits may throw.
struct Touchy {
  std::string id;
  int n = 0;
  LockFields lock{};
};

}  // namespace
}  // namespace throwing_test

template <>
struct EntityTraits<throwing_test::Touchy> : DefaultEntityTraits<throwing_test::Touchy> {
  using Touchy = throwing_test::Touchy;
  static constexpr auto kLockFields = &Touchy::lock;
  static json ToJson(const Touchy& touchy) {
    throwing_test::trap.Touch("ToJson");
    return {{"id", touchy.id}, {"n", touchy.n}};
  }
  static Touchy FromJson(const json& body) {
    throwing_test::trap.Touch("FromJson");
    return {body.at("id").get<std::string>(), body.at("n").get<int>()};
  }
  static void Upgrade(json&) { throwing_test::trap.Touch("Upgrade"); }
  static std::string GetKey(const Touchy& touchy) {
    throwing_test::trap.Touch("GetKey");
    return touchy.id;
  }
};

namespace throwing_test {
namespace {

/// The objects that a verb works with.
struct Bench {
  const std::string key;
  const LockingRepository<Touchy>& touchies;
  ManualClock& clock;
  std::optional<Locked<Touchy>> held;
  std::optional<Snapshot<Touchy>> found;

  /// Runs the process until the result is there.
  template <class R>
  R Get(std::future<R> future) {
    clock.Advance(1min);
    if (future.wait_for(0s) != std::future_status::ready) throw std::logic_error("no result");
    return future.get();
  }
};

struct Verb {
  std::function<void(Bench&)> prepare;
  std::function<void(Bench&)> run;
};

Touchy New(const Bench& b) { return {b.key, 1}; }
std::vector<Key> Both(const Bench& b) { return {b.key, b.key + "+"}; }

void Nothing(Bench&) {}
void Missing(Bench& b) { b.touchies.Erase(b.key); }
void Hold(Bench& b) {
  b.held = b.touchies.Lock(b.key);
  (*b.held)->n = 2;
}
void Look(Bench& b) {
  b.found = b.touchies.Find(b.key);
  (*b.found)->n = 2;
}
void Edit(Touchy& touchy) {
  touchy.n = 2;
  trap.Touch("the function");
}

const Filter kAll{};

const std::map<std::string, Verb>& Verbs() {
  static const std::map<std::string, Verb> kVerbs = {
      {"Lock", {Nothing, [](Bench& b) { (void)b.touchies.Lock(b.key); }}},
      {"LockMakes", {Missing, [](Bench& b) { (void)b.touchies.Lock(New(b)); }}},
      {"LockAsync", {Nothing, [](Bench& b) { (void)b.Get(b.touchies.LockAsync(b.key)); }}},
      {"LockMakesAsync", {Missing, [](Bench& b) { (void)b.Get(b.touchies.LockAsync(New(b))); }}},
      {"TryLock", {Nothing, [](Bench& b) { (void)b.touchies.TryLock(b.key); }}},
      {"TryLockAsync", {Nothing, [](Bench& b) { (void)b.Get(b.touchies.TryLockAsync(b.key)); }}},
      {"LockAll", {Nothing, [](Bench& b) { (void)b.touchies.LockAll(Both(b)); }}},
      {"LockAllAsync", {Nothing, [](Bench& b) { (void)b.Get(b.touchies.LockAllAsync(Both(b))); }}},
      {"TryLockAllAsync",
       {Nothing, [](Bench& b) { (void)b.Get(b.touchies.TryLockAllAsync(Both(b))); }}},
      {"LockNext", {Nothing, [](Bench& b) { (void)b.touchies.LockNext(kAll); }}},
      {"TryLockNext", {Nothing, [](Bench& b) { (void)b.touchies.TryLockNext(kAll); }}},
      {"LockNextAsync", {Nothing, [](Bench& b) { (void)b.Get(b.touchies.LockNextAsync(kAll)); }}},
      {"With", {Nothing, [](Bench& b) { b.touchies.With(b.key, Edit); }}},
      {"WithMakes", {Missing, [](Bench& b) { b.touchies.With(New(b), Edit); }}},
      {"Find", {Nothing, [](Bench& b) { (void)b.touchies.Find(b.key); }}},
      {"FindAsync", {Nothing, [](Bench& b) { (void)b.Get(b.touchies.FindAsync(b.key)); }}},
      {"FindMany", {Nothing, [](Bench& b) { (void)b.touchies.Find(kAll); }}},
      {"FindManyAsync", {Nothing, [](Bench& b) { (void)b.Get(b.touchies.FindAsync(kAll)); }}},
      {"ForEach",
       {Nothing,
        [](Bench& b) { b.touchies.ForEach(kAll, [](Snapshot<Touchy>& s) { Edit(*s); }); }}},
      {"Insert", {Missing, [](Bench& b) { b.touchies.Insert(New(b)); }}},
      {"InsertAsync", {Missing, [](Bench& b) { b.Get(b.touchies.InsertAsync(New(b))); }}},
      {"SaveFound", {Look, [](Bench& b) { b.touchies.Save(*b.found); }}},
      {"SaveFoundAsync", {Look, [](Bench& b) { b.Get(b.touchies.SaveAsync(*b.found)); }}},
      {"TrySave", {Look, [](Bench& b) { (void)b.touchies.TrySave(*b.found); }}},
      {"Update", {Nothing, [](Bench& b) { b.touchies.Update(b.key, Edit); }}},
      {"UpdateAsync", {Nothing, [](Bench& b) { b.Get(b.touchies.UpdateAsync(b.key, Edit)); }}},
      {"Save", {Hold, [](Bench& b) { b.held->Save(); }}},
      {"SaveAsync", {Hold, [](Bench& b) { b.Get(b.held->SaveAsync()); }}},
      {"Release", {Hold, [](Bench& b) { b.held->Release(); }}},
      {"ReleaseAsync", {Hold, [](Bench& b) { b.Get(b.held->ReleaseAsync()); }}},
      {"ReleaseOfEntity", {Hold, [](Bench& b) { b.touchies.ReleaseLock(**b.held); }}},
      {"ReleaseOfEntityAsync",
       {Hold, [](Bench& b) { b.Get(b.touchies.ReleaseLockAsync(**b.held)); }}},
  };
  return kVerbs;
}

class ThrowingTest : public RepositoryTest {
 protected:
  /// False once the verb has fewer calls of the user's code.
  bool Play(const std::string& name, const Verb& verb, int call) {
    const std::string collection = name + std::to_string(call);
    const LockingRepository<Touchy> touchies(manager, collection);
    const std::string key = "1";
    touchies.Insert(Touchy{key, 1});
    touchies.Insert(Touchy{key + "+", 1});
    std::optional<Bench> bench(Bench{key, touchies, *clock, {}, {}});
    verb.prepare(*bench);
    trap.SetAt(call);
    bool threw = false;
    try {
      verb.run(*bench);
    } catch (const DocumentException&) {
      threw = true;
    } catch (const Sprung&) {
      threw = true;
    }
    const bool sprung = trap.sprung();
    trap.Disarm();
    EXPECT_EQ(threw, sprung);
    bench.reset();
    clock->RunPending();
    if (threw) {
      for (const std::string& document : {key, key + "+"}) {
        const auto stored = Stored(document, collection);
        if (!stored) continue;
        EXPECT_EQ((*stored)["n"], 1);
        EXPECT_FALSE(IsLocked(document, collection));
      }
    }
    return sprung;
  }
};
DOCLOCK_FOR_ALL_STORES(ThrowingTest);

TEST_P(ThrowingTest, AnyCallOfTheUsersCode) {
  for (const auto& [name, verb] : Verbs()) {
    int call = 0;
    for (bool more = true; more && !HasFailure(); ++call) {
      SCOPED_TRACE(name + ", call " + std::to_string(call));
      more = Play(name, verb, call);
    }
    EXPECT_GT(call, 1) << name;
  }
}

TEST_P(ThrowingTest, AnUpdateThatNeedsTheLock) {
  const LockingRepository<Touchy> touchies(manager, "touchies");
  touchies.Insert(Touchy{"1", 1});
  bool more = true;
  for (int call = 0; more && !HasFailure(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    auto held = touchies.Lock("1");
    trap.SetAt(call);
    auto update = touchies.UpdateAsync("1", [](Touchy&) { trap.Touch("the function"); });
    clock->Advance(1s);
    trap.Disarm();
    held.Discard();
    trap.SetAt(call);
    bool threw = false;
    try {
      Get(std::move(update));
    } catch (const Error&) {
      threw = true;
    } catch (const Sprung&) {
      threw = true;
    }
    more = trap.sprung();
    trap.Disarm();
    EXPECT_EQ(threw, more);
    clock->RunPending();
    EXPECT_FALSE(IsLocked("1", "touchies"));
  }
}

TEST_P(ThrowingTest, AHandlerThrowsOutOfItsExecutorAndItsLockIsGivenBack) {
  boost::asio::io_context io;
  sagas.LockAsync({"42", Saga{"42"}},
                  boost::asio::bind_executor(io, [](std::exception_ptr, const Locked<Saga>&) {
                    throw Sprung("handler");
                  }));
  clock->RunPending();
  EXPECT_THROW(io.run(), Sprung);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
}

/// An executor that runs some tasks at once, and throws instead of taking any more.
struct FailingExecutor {
  std::shared_ptr<int> left;  ///< How many more tasks it runs.

  template <class F>
  void execute(F task) const {
    if ((*left)-- <= 0) throw Sprung("executor");
    std::move(task)();
  }
  static constexpr boost::asio::execution::blocking_t query(
      boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking_t::never;
  }
  [[maybe_unused]] friend bool operator==(const FailingExecutor&,
                                          const FailingExecutor&) noexcept = default;
};

/// A handler that must not be called, and tells when it is destroyed.
class Uncalled {
 public:
  explicit Uncalled(const std::shared_ptr<int>& alive) : alive_(alive) {}
  template <class... Results>
  void operator()(Results&&...) const {
    ADD_FAILURE() << "called";
  }

 private:
  std::shared_ptr<int> alive_;
};

TEST_P(ThrowingTest, WhatAThrowingExecutorIsGivenIsDestroyedUncalledAndUnlocked) {
  sagas.Insert(Saga{"42"});
  const auto alive = std::make_shared<int>();
  const auto handler = [&](int served = 0) {
    return boost::asio::bind_executor(FailingExecutor{std::make_shared<int>(served)},
                                      Uncalled(alive));
  };
  const auto expect_gone = [&](const char* what) {
    clock->RunPending();
    EXPECT_EQ(alive.use_count(), 1) << what;
    EXPECT_FALSE(IsLocked("42")) << what;
  };
  sagas.LockAsync("42", {}, handler());
  expect_gone("a lock");
  {
    auto held = sagas.Lock("42");
    sagas.LockAsync("42", {.wait = 1min}, handler());
    clock->RunPending();
    held.Release();
    expect_gone("a lock that is handed over");
  }
  {
    auto held = sagas.Lock("42");
    held->step = "paid";
    held.ReleaseAsync(handler());
    expect_gone("a release");
    EXPECT_EQ((*Stored("42"))["step"], "paid");
  }
  sagas.UpdateAsync(
      "42", [](Saga& saga) { saga.step = "updated"; }, handler());
  expect_gone("an update that cannot run its function");
  EXPECT_EQ((*Stored("42"))["step"], "paid");
  sagas.UpdateAsync(
      "42", [](Saga& saga) { saga.step = "updated"; }, handler(1));
  expect_gone("an update");
  EXPECT_EQ((*Stored("42"))["step"], "updated");
  {
    auto held = sagas.Lock("42");
    sagas.UpdateAsync(
        "42", [](Saga&) { ADD_FAILURE() << "called"; }, handler());
    clock->RunPending();
    held.Release();
    clock->Advance(1min);
    expect_gone("an update under the lock");
  }
  sagas.LockNextAsync(Filter{}, {}, handler());
  expect_gone("a search");
}

/// An executor that runs the task at once, or does not, and then has no memory.
struct ForgetfulExecutor {
  bool runs;

  template <class F>
  void execute(F task) const {
    if (runs) std::move(task)();
    throw std::bad_alloc();
  }
  static constexpr boost::asio::execution::blocking_t query(
      boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking_t::never;
  }
  [[maybe_unused]] friend bool operator==(const ForgetfulExecutor&,
                                          const ForgetfulExecutor&) noexcept = default;
};

TEST_P(ThrowingTest, AnExecutorThatTakesATaskAndThrowsRunsItOnce) {
  int calls = 0;
  const auto count = [&](std::exception_ptr, auto&&...) { ++calls; };
  const auto handler = [&] { return boost::asio::bind_executor(ForgetfulExecutor{true}, count); };
  sagas.LockAsync({"42", Saga{"42"}}, handler());
  clock->RunPending();
  EXPECT_EQ(calls, 1);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
  sagas.UpdateAsync(
      "42", [](Saga& saga) { saga.step = "updated"; },
      boost::asio::bind_executor(ForgetfulExecutor{true}, [&](std::exception_ptr) { ++calls; }));
  clock->Advance(1min);
  EXPECT_EQ(calls, 2);
}

TEST_P(ThrowingTest, AnExecutorThatNeverHasMemoryIsNotTriedForEver) {
  const auto alive = std::make_shared<int>();
  sagas.LockAsync({"42", Saga{"42"}},
                  boost::asio::bind_executor(ForgetfulExecutor{false}, Uncalled(alive)));
  clock->RunPending();
  EXPECT_EQ(alive.use_count(), 1);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
}

TEST_P(ThrowingTest, AFutureOfAThrowingExecutorIsBroken) {
  auto lock = sagas.LockAsync({"42", Saga{"42"}},
                              boost::asio::bind_executor(FailingExecutor{std::make_shared<int>(0)},
                                                         boost::asio::use_future));
  clock->RunPending();
  ASSERT_EQ(lock.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(ThrownBy<std::future_error>([&] { (void)lock.get(); }).code(),
            std::future_errc::broken_promise);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
}

/// Throws whatever it is told.
class ThrowingObserver : public Observer {
 public:
  void OnGranted(const LockEvent&, std::chrono::nanoseconds, bool) override { Throw(); }
  void OnBusy(const LockEvent&, Errc, const LockHolder&) override { Throw(); }
  void OnRenewed(const LockEvent&) override { Throw(); }
  void OnRenewalFailing(const LockEvent&, std::chrono::nanoseconds) override { Throw(); }
  void OnLost(const LockEvent&) override { Throw(); }
  void OnReleased(const LockEvent&, std::chrono::nanoseconds) override { Throw(); }
  void OnDiscarded(const LockEvent&, std::chrono::nanoseconds) override { Throw(); }
  void OnInDoubt(const LockEvent&) override { Throw(); }
  int calls = 0;

 private:
  void Throw() {
    if (++calls % 2 == 0) throw 7;
    throw Sprung("observer");
  }
};

TEST_P(ThrowingTest, WhatAnObserverThrowsIsSwallowed) {
  const auto observer = std::make_shared<ThrowingObserver>();
  const LockManager observed(store, {.observer = observer, .runtime = clock->runtime()});
  const LockingRepository<Saga> watched(observed, "sagas");
  auto saga = watched.Lock(Saga{"42"});
  EXPECT_FALSE(watched.TryLock("42"));
  clock->Advance(1min);
  saga.Release();
  { const auto dropped = watched.Lock("42"); }
  clock->RunPending();
  auto lost = watched.Lock("42");
  StealLock(*store, "sagas", Key("42"));
  clock->Advance(1min);
  EXPECT_FALSE(lost.held());
  EXPECT_GE(observer->calls, 8);
}

}  // namespace
}  // namespace throwing_test
}  // namespace doclock
