/// Renewals, the deadline of a holder, and the signal that a lock is lost.

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <future>
#include <semaphore>
#include <set>
#include <stop_token>
#include <thread>

#include "doclock/observer.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

using ::testing::HasSubstr;

class NamedLeaseTest : public NamedTest {
 protected:
  /// The next call with operations of that kind takes this long.
  void SlowDownOnce(OpKind kind, Duration by) {
    store->OnExecute([this, kind, by, once = std::make_shared<bool>(false)](auto ops) {
      if (ops.front()->kind == kind && !std::exchange(*once, true)) clock->Jump(by);
    });
  }
  const LockProvider others{AnotherManager(), "jobs"};
};
DOCLOCK_FOR_ALL_STORES(NamedLeaseTest);

TEST_P(NamedLeaseTest, ALeaseIsFinite) {
  for (const Duration ttl : {Duration(99ms), Duration(24h + 1ms), kForever, Duration(-1s)}) {
    EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire("a", {.ttl = ttl}); }), HasSubstr("ttl"));
    EXPECT_THAT(RefusalOf([&] { (void)jobs.AcquireAsync("a", {.ttl = ttl}); }), HasSubstr("ttl"));
    EXPECT_THAT(RefusalOf([&] { (void)LockProvider(manager, "x", {.ttl = ttl}); }),
                HasSubstr("ttl"));
  }
  EXPECT_TRUE(jobs.Acquire("a", {.ttl = 100ms}).held());
  EXPECT_TRUE(jobs.Acquire("b", {.ttl = 24h}).held());
}

TEST_P(NamedLeaseTest, TheDeadlineOfAGrantCountsFromBeforeItsRequest) {
  SlowDownOnce(OpKind::kAcquire, 4s);
  auto lock = jobs.Acquire("a", {.ttl = 10s, .renew = false});
  EXPECT_LE(lock.Remaining(), 6s);
  EXPECT_GT(lock.Remaining(), 5s);
  const std::stop_token lost = lock.lost();
  clock->Advance(6s);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_FALSE(IsFree("a")) << "the store counts from when the request arrived";
  store->OnExecute({});
}

TEST_P(NamedLeaseTest, TheDeadlineOfARenewalCountsFromBeforeItsRequest) {
  auto lock = jobs.Acquire("a", {.ttl = 10s, .renew = false});
  clock->Advance(3s);
  SlowDownOnce(OpKind::kRenew, 4s);
  lock.Renew();
  EXPECT_LE(lock.Remaining(), 6s);
  EXPECT_GT(lock.Remaining(), 5s);
  store->OnExecute({});
}

TEST_P(NamedLeaseTest, ASlowRenewalInTheBackgroundDoesNotDelayTheLoss) {
  const auto begin = clock->Now();
  auto lock = jobs.Acquire("a", {.ttl = 10s});
  const std::stop_token lost = lock.lost();
  // The first renewal is sent after 3.3 s, and is answered after 7.3 s; there is no other.
  SlowDownOnce(OpKind::kRenew, 4s);
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRenew, .skip = 1, .times = 999});
  clock->Advance(12s);
  EXPECT_FALSE(lost.stop_requested()) << "it was renewed";
  clock->Advance(begin + 13500ms - clock->Now());
  EXPECT_TRUE(lost.stop_requested()) << "not ten seconds after the answer";
  EXPECT_FALSE(IsFree("a"));
  store->OnExecute({});
}

TEST_P(NamedLeaseTest, ALossIsSeenByLaterCallers) {
  std::stop_token later, never;
  {
    auto lost = jobs.Acquire("a", {.ttl = 1s, .renew = false});
    auto released = jobs.Acquire("b");
    clock->Advance(2s);
    later = lost.lost();
    EXPECT_TRUE(later.stop_requested()) << "asked for afterwards";
    released.Release();
    never = released.lost();
    EXPECT_FALSE(never.stop_requested()) << "it still answers after the release";
  }
  clock->Advance(1h);
  EXPECT_TRUE(later.stop_requested()) << "the token outlives the handle";
  EXPECT_FALSE(never.stop_requested());
  EXPECT_THROW((void)HeldLock().lost(), std::logic_error);
}

TEST_P(NamedLeaseTest, EachAttemptHasAnIdOfItsOwn) {
  auto held = others.Acquire("a");
  std::set<Uuid> ids, queued;
  int attempts = 0, waits = 0;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    for (const StoreOp* op : ops) {
      if (op->kind != OpKind::kAcquire) continue;
      const GrantRequest& grant = static_cast<const AcquireOp*>(op)->request.grant;
      // The store knows a waiter in its queue by the id of all its attempts.
      const bool in_queue = grant.queue_for.count() > 0;
      ++(in_queue ? waits : attempts);
      (in_queue ? queued : ids).insert(grant.lock_id);
    }
  });
  EXPECT_FALSE(jobs.TryAcquire("a"));
  EXPECT_FALSE(jobs.TryAcquire("a", {.wait = 1s}));
  held.Release();
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kAcquire});
  auto first = jobs.Acquire("a");
  const Uuid id = first.lock_id();
  first.Release();
  EXPECT_NE(jobs.Acquire("a").lock_id(), id);
  store->OnExecute({});
  EXPECT_GT(attempts, queued.empty() ? 10 : 4);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(attempts));
  EXPECT_EQ(queued.size(), waits > 0 ? 1U : 0U);
}

class NamedLeaseThreadsTest : public NamedThreadsTest {};
DOCLOCK_FOR_ALL_STORES(NamedLeaseThreadsTest);

TEST_P(NamedLeaseThreadsTest, LostIsToldOnAThreadOfTheManager) {
  auto lock = jobs.Acquire("a", {.ttl = 600ms});
  std::promise<std::thread::id> told;
  const std::stop_callback tell(lock.lost(), [&] { told.set_value(std::this_thread::get_id()); });
  (void)LockProvider(LockManager(store), "jobs").Admin().Break("a");
  auto teller = told.get_future();
  ASSERT_EQ(teller.wait_for(5min), std::future_status::ready);
  EXPECT_NE(teller.get(), std::this_thread::get_id());
}

/// Holds the notifier up at the loss of a lock, before the callbacks of lost().
class HoldsUpLosses : public Observer {
 public:
  void OnLost(const LockEvent&) override {
    lost.release();
    go_on.acquire();
  }
  std::binary_semaphore lost{0}, go_on{0};
};

TEST_P(NamedLeaseThreadsTest, AskingForItRunsNoCallback) {
  const auto observer = std::make_shared<HoldsUpLosses>();
  const LockManager watched(store, {.observer = observer});
  auto lock = LockProvider(watched, "jobs").Acquire("a", {.ttl = 600ms});
  std::promise<std::thread::id> told;
  const std::stop_callback tell(lock.lost(), [&] { told.set_value(std::this_thread::get_id()); });
  (void)jobs.Admin().Break("a");
  ASSERT_TRUE(observer->lost.try_acquire_for(30s));
  (void)lock.lost();
  observer->go_on.release();
  auto teller = told.get_future();
  ASSERT_EQ(teller.wait_for(5min), std::future_status::ready);
  EXPECT_NE(teller.get(), std::this_thread::get_id());
}

#if defined(__unix__)
TEST_P(NamedLeaseThreadsTest, AForkedChildMayAskForIt) {
  const auto lock = jobs.Acquire("a");
  const std::jthread asks([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)lock.lost();
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      (void)lock.lost();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "a mutex was locked during the fork";
  }
}
#endif

}  // namespace
}  // namespace doclock::named
