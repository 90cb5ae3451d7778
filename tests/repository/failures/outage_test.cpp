// A wait that ends while the store is unavailable reports that, with the cause, and never a held
// lock.

#include <climits>

#include "doclock/lock_provider.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

using Wait = std::pair<std::string, std::function<void()>>;

class OutageTest : public RepositoryTest {
 protected:
  OutageTest() { Put("42", {{"step", "new"}}); }

  /// From now on no attempt at a lock reaches the store.
  void CutOff() {
    store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kAcquire, .times = INT_MAX});
  }
  LockingRepository<Saga> WithUpdateWait(Duration wait) {
    return {manager, "sagas", {.update_retries = 0, .update_wait = wait}};
  }
  template <class R>
  void Finish(std::future<R> future) {
    static_cast<void>(Get(std::move(future)));
  }
  /// Every form of waiting for a lock, for this long.
  std::vector<Wait> Waits(Duration wait) {
    const LockOptions options{.wait = wait};
    const std::vector<Key> both{"42", "43"};
    const auto step = [](Saga& saga) { saga.step = "done"; };
    return {
        {"Lock", [=, this] { (void)sagas.Lock("42", options); }},
        {"TryLock", [=, this] { (void)sagas.TryLock("42", options); }},
        {"LockAsync", [=, this] { Finish(sagas.LockAsync("42", options)); }},
        {"TryLockAsync", [=, this] { Finish(sagas.TryLockAsync("42", options)); }},
        {"LockNext", [=, this] { (void)sagas.LockNext({}, options); }},
        {"TryLockNext", [=, this] { (void)sagas.TryLockNext({}, options); }},
        {"LockNextAsync", [=, this] { Finish(sagas.LockNextAsync({}, options)); }},
        {"LockAll", [=, this] { (void)sagas.LockAll(both, options); }},
        {"LockAllAsync", [=, this] { Finish(sagas.LockAllAsync(both, options)); }},
        {"Update", [=, this] { WithUpdateWait(wait).Update("42", step); }},
        {"UpdateAsync", [=, this] { Finish(WithUpdateWait(wait).UpdateAsync("42", step)); }},
        {"NamedMutex",
         [=, this] { (void)LockProvider(manager, "jobs").Mutex("m").try_lock_for(wait.ms()); }},
    };
  }
  /// The Error that ends a wait, if there is one.
  static std::pair<std::optional<Errc>, std::string> EndOf(const Wait& wait) {
    try {
      wait.second();
    } catch (const Error& error) {
      return {error.errc(), error.what()};
    }
    return {};
  }
};
DOCLOCK_FOR_ALL_STORES(OutageTest);

TEST_P(OutageTest, EveryWaitTellsItAndItsCause) {
  CutOff();
  for (const auto& wait : Waits(5s)) {
    SCOPED_TRACE(wait.first);
    const TimePoint start = clock->Now();
    const auto [code, text] = EndOf(wait);
    EXPECT_EQ(code, Errc::kUnavailable) << text;
    EXPECT_THAT(text, ::testing::HasSubstr("the store could not be reached (injected)"));
    EXPECT_GE(clock->Now() - start, 5s);
  }
}

TEST_P(OutageTest, TheLastAttemptDecides) {
  const LockManager other = AnotherManager();
  const auto held = LockingRepository<Saga>(other, "sagas").Lock("42");
  auto cut_off = sagas.TryLockAsync("42", {.wait = 10s});
  clock->Advance(5s);
  CutOff();
  EXPECT_EQ(CodeOf([&] { Finish(std::move(cut_off)); }), Errc::kUnavailable);
  auto reached = sagas.TryLockAsync("42", {.wait = 10s});
  auto next = sagas.TryLockNextAsync({}, {.wait = 10s});
  clock->Advance(5s);
  store->Heal();
  EXPECT_FALSE(Get(std::move(reached)));
  EXPECT_FALSE(Get(std::move(next)));
}

TEST_P(OutageTest, WhoCancelsIsToldJustThat) {
  CutOff();
  std::stop_source stop;
  const std::shared_ptr<Runtime> runtime = clock->runtime();
  runtime->Schedule(clock->Now() + 3s, [&] { stop.request_stop(); });
  EXPECT_EQ(CodeOf([&] { (void)sagas.Lock("42", {.wait = 1min}, stop.get_token()); }),
            Errc::kCancelled);
}

}  // namespace
}  // namespace doclock
