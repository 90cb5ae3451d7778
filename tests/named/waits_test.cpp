/// How long a call waits, what ends it, and that nothing is left of it.

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <stop_token>

#include "named/harness.h"

namespace doclock::named {
namespace {

class NamedWaitTest : public NamedTest {
 protected:
  struct Form {
    const char* name;
    std::function<void(Duration wait)> call;
  };
  /// All ways to wait for the lock "a", for this long.
  std::vector<Form> Forms() {
    return {
        {"Acquire", [&](Duration wait) { (void)jobs.Acquire("a", {.wait = wait}); }},
        {"TryAcquire", [&](Duration wait) { (void)jobs.TryAcquire("a", {.wait = wait}); }},
        {"share", [&](Duration wait) { (void)jobs.Acquire("a", Share(wait)); }},
        {"With", [&](Duration wait) { jobs.With("a", [] {}, {.wait = wait}); }},
        {"AcquireAll", [&](Duration wait) { (void)jobs.AcquireAll(both, {.wait = wait}); }},
        {"TryAcquireAll", [&](Duration wait) { (void)jobs.TryAcquireAll(both, {.wait = wait}); }},
        {"NamedMutex", [&](Duration wait) { (void)jobs.Mutex("a").try_lock_for(wait.ms()); }},
        {"RecursiveNamedMutex",
         [&](Duration wait) { (void)jobs.RecursiveMutex("a").try_lock_for(wait.ms()); }},
        {"SharedNamedMutex",
         [&](Duration wait) { (void)jobs.SharedMutex("a").try_lock_for(wait.ms()); }},
        {"SharedNamedMutex, shared",
         [&](Duration wait) { (void)jobs.SharedMutex("a").try_lock_shared_for(wait.ms()); }},
    };
  }
  static LockOptions Share(Duration wait) { return {.wait = wait, .mode = LockMode::kShared}; }
  const std::vector<std::string> both{"0", "a"};
  /// The outcome of an attempt, and its duration by the clock.
  struct Outcome {
    std::optional<Errc> code;
    std::chrono::nanoseconds took;
  };
  Outcome Ask(const Form& form, Duration wait) {
    const auto begin = clock->Now();
    const auto code = CodeOf([&] { form.call(wait); });
    return {code, clock->Now() - begin};
  }
  /// The counter of a name, whether it is locked or not.
  std::int64_t FenceOf(const Key& key) {
    ReadOp read(*store->Find("jobs"), key);
    StoreOp* const op = &read;
    store->Execute({&op, 1}, 1s);
    return read.result.version;
  }
  /// Asks for the lock "a" asynchronously; `code` is set once it is told what came of it.
  void AskLater(const LockOptions& options, std::optional<Errc>& code,
                boost::asio::cancellation_signal& signal) {
    jobs.AcquireAsync("a", options,
                      boost::asio::bind_cancellation_slot(
                          signal.slot(), [&code](const std::exception_ptr& error, const HeldLock&) {
                            if (error) code = CodeOf([&] { std::rethrow_exception(error); });
                          }));
  }

  const LockProvider others{AnotherManager(), "jobs"};
};
DOCLOCK_FOR_ALL_STORES(NamedWaitTest);

TEST_P(NamedWaitTest, EveryFormEndsWhenItsTimeIsUp) {
  auto held = others.Acquire("a");
  for (const Form& form : Forms()) {
    const Outcome outcome = Ask(form, 1s);
    EXPECT_GE(outcome.took, 1s) << form.name;
    EXPECT_LT(outcome.took, 1100ms) << form.name;
    EXPECT_TRUE(!outcome.code || outcome.code == Errc::kTimedOut) << form.name;
  }
}

TEST_P(NamedWaitTest, NoTimeIsOneAttemptInEveryForm) {
  auto held = others.Acquire("a");
  auto beside = others.Acquire("0");
  for (const Form& form : Forms()) {
    clock->RunPending();
    store->Reset();
    const Outcome outcome = Ask(form, 0s);
    EXPECT_EQ(outcome.took, 0s) << form.name << ": not for ever";
    EXPECT_EQ(store->Count(OpKind::kAcquire), 1) << form.name;
    EXPECT_TRUE(!outcome.code || outcome.code == Errc::kBusy) << form.name;
  }
}

TEST_P(NamedWaitTest, LessThanNoTimeIsRefusedOrNoTime) {
  auto held = others.Acquire("a");
  for (const Form& form : Forms()) {
    const auto begin = clock->Now();
    const std::string refusal = RefusalOf([&] { form.call(-1ms); });
    EXPECT_EQ(clock->Now(), begin) << form.name;
    // The standard's try_lock_for takes any time.
    const bool mutex = std::string(form.name).find("Mutex") != std::string::npos;
    EXPECT_EQ(refusal.find("LockOptions::wait") == std::string::npos, mutex) << form.name;
  }
}

TEST_P(NamedWaitTest, MoreTimeThanAnyClockHasIsForEver) {
  for (const Form& form : Forms()) {
    auto held = others.Acquire("a", {.ttl = 2s, .renew = false});
    const Outcome outcome = Ask(form, std::chrono::hours::max());
    EXPECT_EQ(outcome.code, std::nullopt) << form.name;
    EXPECT_GT(outcome.took, 1s) << form.name;
    clock->RunPending();
  }
}

TEST_P(NamedWaitTest, ManyWhoWaitEndEachInItsTime) {
  auto held = others.Acquire("a");
  const auto begin = clock->Now();
  std::vector<std::chrono::nanoseconds> took(20);
  const auto wait = [](std::size_t i) { return 200ms * (20 - i); };
  for (std::size_t i = 0; i < took.size(); ++i) {
    jobs.AcquireAsync("a", {.wait = wait(i)},
                      [&, i](const std::exception_ptr& error, const HeldLock&) {
                        if (error) took[i] = clock->Now() - begin;
                      });
  }
  clock->Advance(30s);
  for (std::size_t i = 0; i < took.size(); ++i) {
    EXPECT_GE(took[i], wait(i));
    EXPECT_LT(took[i], wait(i) + 100ms);
  }
}

TEST_P(NamedWaitTest, AnAttemptThatIsUnderWayWhenTheTimeIsUpLeavesNoLockBehind) {
  auto held = others.Acquire("a", {.ttl = 10s, .renew = false});
  std::optional<Errc> code;
  boost::asio::cancellation_signal signal;
  AskLater({.ttl = 1h, .wait = 11s}, code, signal);
  clock->Advance(9s);
  clock->DelayWork(1min);  // the attempt when the holder's lease ends comes back much later
  clock->Advance(4s);
  EXPECT_EQ(code, Errc::kTimedOut) << "told without waiting for it";
  clock->Advance(2min);
  clock->DelayWork(0s);
  clock->Advance(2min);
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(NamedWaitTest, ThereIsNoLastAttemptWhenTheTimeIsUp) {
  const StoreTraits traits = store->traits();
  if (traits.queues && traits.shared) GTEST_SKIP() << "a waiter in the store's queue asks sooner";
  const LockProvider patient(AnotherManager({.poll_min = 10s, .poll_max = 10s}), "jobs");
  store->DropHints(true);
  auto held = others.Acquire("a");
  auto waiting = patient.AcquireAsync("a", {.wait = 5s});
  clock->Advance(3s);
  held.Release();
  clock->RunPending();
  store->Reset();
  EXPECT_EQ(CodeOf([&] { (void)Get(std::move(waiting)); }), Errc::kTimedOut);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0);
  EXPECT_TRUE(IsFree("a")) << "though it was free for two seconds";
}

TEST_P(NamedWaitTest, WithoutAHintAReleaseIsNoticedWithinOnePoll) {
  const LockProvider patient(AnotherManager({.poll_min = 1s, .poll_max = 2s}), "jobs");
  store->DropHints(true);
  auto held = others.Acquire("a");
  auto waiting = patient.AcquireAsync("a", {.wait = kForever});
  clock->Advance(1min);
  held.Release();
  EXPECT_TRUE(Get(std::move(waiting), 2s).held());
}

TEST_P(NamedWaitTest, LooksAgainAsOftenAsTheOptionsSayHoweverLongItLasts) {
  const LockProvider patient(AnotherManager({.poll_min = 1s, .poll_max = 2s}), "jobs");
  store->DropHints(true);
  auto held = others.Acquire("a", {.ttl = 24h});
  auto waiting = patient.AcquireAsync("a", {.wait = 2h});
  clock->RunPending();
  for (int minute = 0; minute < 3; ++minute) {
    store->Reset();
    clock->Advance(1min);
    EXPECT_GE(store->Count(OpKind::kAcquire), 30 - 2) << minute;
    EXPECT_LE(store->Count(OpKind::kAcquire), 60 + 2) << minute;
  }
}

TEST_P(NamedWaitTest, ACallThatIsStoppedBeforeItBeginsAsksNothing) {
  std::stop_source stop;
  stop.request_stop();
  clock->RunPending();
  store->Reset();
  const LockOptions forever{.wait = kForever};
  const auto token = stop.get_token();
  EXPECT_EQ(CodeOf([&] { (void)jobs.Acquire("a", {}, token); }), Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] { (void)jobs.Acquire("a", forever, token); }), Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] { (void)jobs.TryAcquire("a", forever, token); }), Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] { (void)jobs.AcquireAll({"a", "b"}, forever, token); }), Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] { (void)jobs.TryAcquireAll({"a"}, forever, token); }), Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] {
              jobs.With(
                  "a", [] { FAIL(); }, forever, token);
            }),
            Errc::kCancelled);
  EXPECT_EQ(store->Calls(), 0);
}

TEST_P(NamedWaitTest, ACoroutineThatIsCancelledBeforeItBeginsAsksNothing) {
  boost::asio::io_context context;
  boost::asio::cancellation_signal signal;
  std::exception_ptr error;
  clock->RunPending();
  store->Reset();
  boost::asio::co_spawn(
      context,
      [&]() -> boost::asio::awaitable<void> {
        // Not before it runs in the context: Boost 1.83 throws that from poll().
        co_await boost::asio::post(boost::asio::use_awaitable);
        signal.emit(boost::asio::cancellation_type::terminal);
        (void)co_await jobs.AcquireAsync("a", {.wait = kForever}, boost::asio::use_awaitable);
        ADD_FAILURE() << "it was cancelled";
      },
      boost::asio::bind_cancellation_slot(signal.slot(),
                                          [&](std::exception_ptr thrown) { error = thrown; }));
  context.poll();
  clock->RunPending();
  context.restart();
  context.poll();
  EXPECT_TRUE(error);
  EXPECT_EQ(store->Calls(), 0);
}

TEST_P(NamedWaitTest, ACallThatIsCancelledAtOnceLeavesNothingBehind) {
  std::optional<Errc> code;
  boost::asio::cancellation_signal signal;
  clock->DelayWork(10s);
  AskLater({.ttl = 1h, .wait = kForever}, code, signal);
  signal.emit(boost::asio::cancellation_type::terminal);
  clock->RunPending();
  EXPECT_EQ(code, Errc::kCancelled) << "told without waiting for the attempt";
  clock->Advance(1min);
  clock->DelayWork(0s);
  clock->Advance(1min);
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(NamedWaitTest, ACancelledAttemptThatTheStoreAppliedIsGivenBack) {
  for (const bool reply_lost : {false, true}) {
    auto held = others.Acquire("a", {.ttl = 1h});
    std::optional<Errc> code;
    boost::asio::cancellation_signal signal;
    AskLater({.ttl = 24h, .wait = kForever}, code, signal);
    clock->Advance(1s);
    bool once = false;
    store->OnExecute([&](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kAcquire || std::exchange(once, true)) return;
      // While the request is on its way.
      ExpireLock(*store, "jobs", "a");
      signal.emit(boost::asio::cancellation_type::terminal);
      clock->RunPending();
      EXPECT_EQ(code, Errc::kCancelled);
      if (reply_lost) store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kAcquire});
    });
    clock->Advance(1min);
    store->OnExecute({});
    EXPECT_TRUE(once);
    EXPECT_GT(FenceOf("a"), held.fence()) << "the store did apply it";
    EXPECT_TRUE(IsFree("a"));
  }
}

}  // namespace
}  // namespace doclock::named
