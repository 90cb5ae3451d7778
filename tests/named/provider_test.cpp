#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stop_token>
#include <thread>

#include "doclock/runtime.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

using ::testing::HasSubstr;

template <class Name>
constexpr bool kNames = requires(const LockProvider& jobs, Name name) {
  jobs.Acquire(name);
  jobs.TryAcquire(name);
  jobs.AcquireAsync(name);
  jobs.TryAcquireAsync(name);
  jobs.With(name, [] {});
  jobs.Mutex(name);
  jobs.RecursiveMutex(name);
  jobs.SharedMutex(name);
  jobs.Admin().Break(name);
  jobs.Admin().RenewGroup(name);
  jobs.Admin().ReleaseGroup(name);
};
static_assert(kNames<const char*> && kNames<std::string> && kNames<std::string_view>);
template <class Name>
constexpr bool kIsName = std::is_convertible_v<Name, detail::NameArg>;
static_assert(kIsName<const char (&)[2]> && kIsName<const std::string&>);
static_assert(!kIsName<std::nullptr_t> && !kIsName<int> && !kIsName<Key>);
template <class Provider>
constexpr bool kTakesZero = requires(const Provider& jobs) { jobs.Acquire(0); } ||
                            requires(const Provider& jobs) { jobs.Acquire(nullptr); } ||
                            requires(const Provider& jobs) { jobs.TryAcquire(nullptr); } ||
                            requires(const Provider& jobs) { jobs.Mutex(0); } ||
                            requires(const Provider& jobs) { jobs.With(nullptr, [] {}); };
static_assert(!kTakesZero<LockProvider>);

class ProviderTest : public NamedTest {};
DOCLOCK_FOR_ALL_STORES(ProviderTest);

TEST_P(ProviderTest, KeepsOthersOutUntilItIsReleased) {
  HeldLock lock = jobs.Acquire("rebuild");
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(lock.name(), "rebuild");
  EXPECT_FALSE(IsFree("rebuild"));
  lock.Release();
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(IsFree("rebuild"));
}

TEST_P(ProviderTest, TheDefaultCollectionIsItsOwn) {
  const LockProvider provider(manager);
  EXPECT_EQ(provider.collection(), "doclock_locks");
  auto lock = provider.Acquire("a");
  EXPECT_TRUE(store->Find("doclock_locks"));
  EXPECT_TRUE(jobs.TryAcquire("a")) << "another collection has other locks";
}

TEST_P(ProviderTest, SaysWhoIsBusyAndForHowLong) {
  auto lock = jobs.Acquire("a", {.ttl = 10s, .owner = "worker 7"});
  clock->Advance(1s);
  try {
    (void)jobs.Acquire("a");
    FAIL();
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kBusy);
    EXPECT_EQ(error.holder().name, "worker 7");
    EXPECT_THAT(error.what(), HasSubstr("'a'"));
    ASSERT_TRUE(error.remaining());
    EXPECT_GT(*error.remaining(), 0s);
    EXPECT_LE(*error.remaining(), 10s);
  }
  EXPECT_FALSE(jobs.TryAcquire("a"));
}

TEST_P(ProviderTest, NamesAreTakenAsTheyAre) {
  std::vector<HeldLock> all;
  for (const std::string& name : {std::string(" "), std::string("a\0b", 3), std::string("\0", 1),
                                  std::string("\xF0\x9F\x94\x92"), std::string("A"),
                                  std::string("a"), std::string(kMaxKeyBytes, 'x')}) {
    all.push_back(jobs.Acquire(name));
    EXPECT_EQ(all.back().name(), name);
  }
}

TEST_P(ProviderTest, RefusesNamesThatAreNone) {
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire(""); }), HasSubstr("name"));
  EXPECT_NE(RefusalOf([&] { (void)jobs.Acquire("\xff"); }), "");
  EXPECT_NE(RefusalOf([&] { (void)jobs.Acquire(std::string(kMaxKeyBytes + 1, 'x')); }), "");
  EXPECT_NE(RefusalOf([&] { (void)jobs.AcquireAll({"a", ""}); }), "");
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, RefusesBadOptionsByName) {
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire("a", {.ttl = 1ms}); }), HasSubstr("ttl"));
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire("a", {.wait = -1ms}); }), HasSubstr("wait"));
  EXPECT_THAT(RefusalOf([&] { (void)jobs.AcquireAsync("a", {.wait = -1ms}); }), HasSubstr("wait"));
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire("a", {.group = std::string(257, 'x')}); }),
              HasSubstr("group"));
  EXPECT_THAT(RefusalOf([&] { (void)LockProvider(manager, "x", {.ttl = 1ms}); }), HasSubstr("ttl"));
  EXPECT_NE(RefusalOf([&] { (void)LockProvider(manager, ""); }), "");
  EXPECT_THAT(RefusalOf([&] { (void)LockManager(nullptr); }), HasSubstr("store"));
  EXPECT_THAT(RefusalOf([&] { (void)AnotherManager({.poll_min = 0ms}); }), HasSubstr("poll_min"));
  EXPECT_THAT(RefusalOf([&] { (void)AnotherManager({.poll_min = 2s, .poll_max = 1s}); }),
              HasSubstr("poll_max"));
  EXPECT_THAT(RefusalOf([&] { (void)AnotherManager({.poll_max = kForever}); }),
              HasSubstr("poll_max"));
}

TEST_P(ProviderTest, TheFenceRisesAndSurvivesReleaseExpiryAndPurge) {
  auto first = jobs.Acquire("a");
  const auto fence = first.fence();
  first.Release();
  auto second = jobs.Acquire("a", {.ttl = 1s, .renew = false});
  EXPECT_GT(second.fence(), fence);
  clock->Advance(2s);
  EXPECT_EQ(store->Purge(*store->Find("jobs"), 100, 1s), 1);
  auto third = jobs.Acquire("a");
  EXPECT_GT(third.fence(), second.fence());
}

TEST_P(ProviderTest, RenewsItselfAndIsNotLostOverManyLeases) {
  auto lock = jobs.Acquire("a", {.ttl = 10s});
  clock->Advance(10min);
  EXPECT_TRUE(lock.held());
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_FALSE(IsFree("a"));
}

TEST_P(ProviderTest, WithoutRenewalItIsLostBeforeAnotherClientCanGetIt) {
  auto lock = jobs.Acquire("a", {.ttl = 5min, .renew = false});
  const std::stop_token lost = lock.lost();
  bool free_when_lost = true;
  const std::stop_callback check(lost, [&] { free_when_lost = IsFree("a"); });
  clock->Advance(5min + 1s);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_FALSE(free_when_lost);
  EXPECT_EQ(CodeOf([&] { lock.Release(); }), Errc::kLost);
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, ARenewalThatHangsDoesNotDelayTheLoss) {
  auto lock = jobs.Acquire("a", {.ttl = 5min});
  const std::stop_token lost = lock.lost();
  bool free_when_lost = true;
  const std::stop_callback check(lost, [&] { free_when_lost = IsFree("a"); });
  clock->DelayWork(1h);
  clock->Advance(5min + 1s);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_FALSE(free_when_lost);
  clock->DelayWork(0s);
}

TEST_P(ProviderTest, AStolenLockIsLostAndItsOldHolderDoesNotExtendItsSuccessors) {
  auto lock = jobs.Acquire("a", {.ttl = 10s});
  const std::stop_token lost = lock.lost();
  StealLock(*store, "jobs", "a");
  clock->Advance(5s);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(CodeOf([&] { lock.Renew(); }), Errc::kLost);
  EXPECT_FALSE(IsFree("a")) << "the thief's lock is untouched";
  clock->Advance(26s);
  EXPECT_TRUE(IsFree("a")) << "no renewal extended it";
}

TEST_P(ProviderTest, ReleaseDoesNotFireLostAndCannotBeRepeated) {
  auto lock = jobs.Acquire("a");
  const std::stop_token lost = lock.lost();
  lock.Release();
  clock->Advance(1min);
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_THROW(lock.Release(), std::logic_error);
  EXPECT_THROW(HeldLock().Release(), std::logic_error);
}

TEST_P(ProviderTest, AFailedReleaseIsNeverReportedAsSuccess) {
  auto lock = jobs.Acquire("a");
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite});
  EXPECT_EQ(CodeOf([&] { lock.Release(); }), Errc::kUnavailable);
  EXPECT_TRUE(lock.held()) << "and it can be tried again";
  lock.Release();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, ALostReplyOfAReleaseIsSettledByLooking) {
  auto lock = jobs.Acquire("a");
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kWrite});
  lock.Release();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, ADestroyedHandleGivesBackWithoutIo) {
  {
    auto lock = jobs.Acquire("a");
    store->Reset();
    lock = HeldLock();
    EXPECT_EQ(store->Calls(), 0);
  }
  clock->RunPending();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, RenewMakesTheLeaseLongerAndKeepsItSo) {
  auto lock = jobs.Acquire("a", {.ttl = 1s, .renew = false});
  lock.Renew(1min);
  EXPECT_GT(lock.Remaining(), 59s);
  clock->Advance(50s);
  EXPECT_TRUE(lock.held());
  EXPECT_FALSE(IsFree("a"));
  lock.Renew();
  EXPECT_GT(lock.Remaining(), 59s) << "the length it had";
  EXPECT_THAT(RefusalOf([&] { lock.Renew(1ms); }), HasSubstr("ttl"));
  EXPECT_THAT(RefusalOf([&] { lock.Renew(-1s); }), HasSubstr("ttl"));
}

TEST_P(ProviderTest, RenewNeverMakesTheLeaseEndSooner) {
  auto lock = jobs.Acquire("a", {.ttl = 1min, .renew = false});
  lock.Renew(1s);
  EXPECT_GT(lock.Remaining(), 59s);
  clock->Advance(58s);
  EXPECT_TRUE(lock.held());
  EXPECT_FALSE(IsFree("a"));
}

TEST_P(ProviderTest, RenewNeverRevives) {
  auto lock = jobs.Acquire("a", {.ttl = 1s, .renew = false});
  ExpireLock(*store, "jobs", "a");
  EXPECT_EQ(CodeOf([&] { lock.Renew(1min); }), Errc::kLost);
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, ARenewalInDoubtIsNotSuccessAndTheLockIsStillHeld) {
  auto lock = jobs.Acquire("a", {.ttl = 10s, .renew = false});
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kRenew, .times = 100});
  EXPECT_EQ(CodeOf([&] { lock.Renew(1min); }), Errc::kInDoubt);
  EXPECT_TRUE(lock.held());
  EXPECT_LE(lock.Remaining(), 10s);
  store->Heal();
  lock.Renew(1min);
  EXPECT_GT(lock.Remaining(), 59s);
}

TEST_P(ProviderTest, DetachLeavesTheLockToItsLease) {
  auto lock = jobs.Acquire("a", {.ttl = 10s});
  lock.Detach();
  EXPECT_FALSE(lock.held());
  lock = HeldLock();
  clock->Advance(5s);
  EXPECT_FALSE(IsFree("a"));
  clock->Advance(6s);
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, MinHoldKeepsAQuickJobFromRunningTwice) {
  jobs.Acquire("cron", {.min_hold = 1min}).Release();
  clock->Advance(30s);
  EXPECT_FALSE(IsFree("cron"));
  clock->Advance(31s);
  EXPECT_TRUE(IsFree("cron"));
}

TEST_P(ProviderTest, WaitsAsLongAsItIsToldAndNotLonger) {
  auto lock = LockProvider(AnotherManager(), "jobs").Acquire("a");
  const auto begin = clock->Now();
  EXPECT_EQ(CodeOf([&] { (void)jobs.Acquire("a", {.wait = 3s}); }), Errc::kTimedOut);
  EXPECT_GE(clock->Now() - begin, 3s);
  EXPECT_LT(clock->Now() - begin, 4s);
  EXPECT_FALSE(jobs.TryAcquire("a", {.wait = 1s}));
}

TEST_P(ProviderTest, AStopRequestEndsTheWait) {
  auto lock = jobs.Acquire("a");
  std::stop_source stop;
  const std::shared_ptr<Runtime> runtime = clock->runtime();
  runtime->Schedule(clock->Now() + 3s, [&] { stop.request_stop(); });
  EXPECT_EQ(CodeOf([&] { (void)jobs.Acquire("a", {.wait = kForever}, stop.get_token()); }),
            Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] { (void)jobs.TryAcquire("b", {}, stop.get_token()); }), Errc::kCancelled);
  lock.Release();
  clock->Advance(1min);
  EXPECT_TRUE(IsFree("a")) << "nothing is left behind";
}

TEST_P(ProviderTest, ALostReplyOfAnAcquireIsConfirmedOrGivenBack) {
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kAcquire});
  auto lock = jobs.Acquire("a");
  EXPECT_TRUE(lock.held());
  lock.Release();
  store->Inject({.kind = Fault::Kind::kLate, .op = OpKind::kAcquire});
  EXPECT_EQ(CodeOf([&] { (void)jobs.Acquire("b", {.ttl = 1h}); }), Errc::kInDoubt)
      << "its document may still come";
  EXPECT_EQ(store->ReleaseLate(), 1);
  clock->Advance(1min);
  EXPECT_TRUE(IsFree("b"));
}

TEST_P(ProviderTest, AsynchronousFormsSettleFutures) {
  auto lock = Get(jobs.AcquireAsync("a"));
  EXPECT_FALSE(Get(jobs.TryAcquireAsync("a")));
  Get(lock.RenewAsync(1min));
  EXPECT_GT(lock.Remaining(), 59s);
  Get(lock.ReleaseAsync());
  EXPECT_FALSE(lock.held());
  auto again = Get(jobs.TryAcquireAsync("a"));
  ASSERT_TRUE(again);
  Get(again->DetachAsync());
  EXPECT_FALSE(again->held());
  EXPECT_THROW((void)again->ReleaseAsync(), std::logic_error);
}

TEST_P(ProviderTest, CoroutinesWaitWithoutAThread) {
  boost::asio::io_context context;
  auto lock = jobs.Acquire("a");
  bool done = false;
  boost::asio::co_spawn(
      context,
      [&]() -> boost::asio::awaitable<void> {
        HeldLock mine = co_await jobs.AcquireAsync("a", {.wait = 1min}, boost::asio::use_awaitable);
        co_await mine.ReleaseAsync(boost::asio::use_awaitable);
        done = true;
      },
      boost::asio::detached);
  context.poll();
  EXPECT_FALSE(done);
  lock.Release();
  clock->RunPending();
  context.restart();
  while (!done) {
    context.run_one_for(10ms);
    context.restart();
    clock->RunPending();
  }
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, WithHoldsTheLockWhileTheFunctionRuns) {
  EXPECT_EQ(jobs.With("a", [&] { return IsFree("a") ? 1 : 2; }), 2);
  jobs.With("a", [&](HeldLock& lock) { EXPECT_TRUE(lock.held()); });
  EXPECT_THROW(jobs.With("a", [] { throw std::runtime_error("x"); }), std::runtime_error);
  clock->RunPending();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, AcquireAllSortsAndTakesEachOnce) {
  auto all = jobs.AcquireAll({"c", "a", "b", "a"});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name(), "a");
  EXPECT_EQ(all[1].name(), "b");
  EXPECT_EQ(all[2].name(), "c");
  EXPECT_TRUE(jobs.AcquireAll({}).empty());
}

TEST_P(ProviderTest, AcquireAllIsAllOrNothingAndNamesTheOneThatFailed) {
  auto b = jobs.Acquire("b");
  try {
    (void)jobs.AcquireAll({"a", "b", "c"});
    FAIL();
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kBusy);
    EXPECT_THAT(error.what(), HasSubstr("'b'"));
  }
  EXPECT_FALSE(jobs.TryAcquireAll({"a", "b", "c"}));
  EXPECT_FALSE(Get(jobs.TryAcquireAllAsync({"a", "b", "c"})));
  clock->RunPending();
  EXPECT_TRUE(IsFree("a"));
  EXPECT_TRUE(IsFree("c"));
}

TEST_P(ProviderTest, AcquireAllGivesBackTheLastFirst) {
  auto busy = LockProvider(AnotherManager(), "jobs").Acquire("d");
  std::vector<Key> released;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    for (const StoreOp* op : ops) {
      if (op->kind == OpKind::kWrite) released.push_back(*op->key);
    }
  });
  EXPECT_FALSE(jobs.TryAcquireAll({"a", "b", "c", "d"}));
  clock->RunPending();
  store->OnExecute({});
  EXPECT_THAT(released, ::testing::ElementsAre(Key("c"), Key("b"), Key("a")));
}

TEST_P(ProviderTest, AcquireAllHasOneTimeoutForAll) {
  const LockProvider others(AnotherManager(), "jobs");
  auto a = others.Acquire("a", {.ttl = 4s, .renew = false});
  auto b = others.Acquire("b", {.ttl = 1h, .renew = false});
  const auto begin = clock->Now();
  EXPECT_EQ(CodeOf([&] { (void)jobs.AcquireAll({"a", "b"}, {.wait = 6s}); }), Errc::kTimedOut);
  EXPECT_LT(clock->Now() - begin, 8s);
  b.Release();
  EXPECT_EQ(Get(jobs.AcquireAllAsync({"a", "b"}, {.wait = 6s})).size(), 2U);
}

TEST_P(ProviderTest, ANamedLockIsADocumentWithNoBody) {
  auto lock = jobs.Acquire("a");
  Collection& collection = *store->Find("jobs");
  const Key key("a");
  ReadOp read(collection, key);
  StoreOp* const op = &read;
  store->Execute({&op, 1}, 1s);
  ASSERT_EQ(read.status, OpStatus::kDone);
  EXPECT_EQ(read.body.json(), nlohmann::json::object());
  EXPECT_EQ(read.version, lock.fence());
  EXPECT_TRUE(read.locked);
}

class ProviderThreadsTest : public NamedThreadsTest {};
DOCLOCK_FOR_ALL_STORES(ProviderThreadsTest);

TEST_P(ProviderThreadsTest, OnlyOneAtATime) {
  int inside = 0, total = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          auto lock = jobs.Acquire("a", {.wait = 1min});
          EXPECT_EQ(++inside, 1);
          ++total;
          --inside;
          lock.Release();
        }
      });
    }
  }
  EXPECT_EQ(total, 200);
}

}  // namespace
}  // namespace doclock::named
