// The recipe for leader election (docs/how-to/leader-election.md).

#include <gtest/gtest.h>

#include <climits>

#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "docs_how_to_leader_election_publish.cpp"
#include "repository/support/stores.h"

namespace {

using doclock::testing::Fault;

class LeaderElectionRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  LeaderElectionRecipe() { Prepare(prices); }

  /// Leads under the name "prices". The term of this number (from 1) is the last.
  void LeadFor(int terms, const Term& term) {
    std::stop_source stop;
    int number = 0;
    const Term counted = [&](doclock::HeldLock& lock, std::stop_token over) {
      if (++number == terms) stop.request_stop();
      fences.push_back(lock.fence());
      term(lock, std::move(over));
    };
    Lead(locks, "prices", counted, stop.get_token());
    EXPECT_EQ(number, terms);
  }
  [[nodiscard]] bool IsFree() const {
    return doclock::LockProvider(other, "leaders").TryAcquire("prices").has_value();
  }
  [[nodiscard]] int Round() const { return prices.Find("today").value()->round; }

  std::shared_ptr<doclock::testing::ManualClock> clock =
      std::make_shared<doclock::testing::ManualClock>();
  std::shared_ptr<doclock::testing::FaultyStore> store =
      std::make_shared<doclock::testing::FaultyStore>(GetParam().open(clock));
  doclock::LockManager manager{store, {.runtime = clock->runtime()}};
  doclock::LockManager other{store, {.runtime = clock->runtime()}};  // as another process
  doclock::LockProvider locks{manager, "leaders"};
  doclock::LockingRepository<Prices> prices{manager, "prices"};
  std::vector<std::int64_t> fences;
};
DOCLOCK_FOR_ALL_STORES(LeaderElectionRecipe);

TEST_P(LeaderElectionRecipe, LeadsUntilItIsToldToStopAndReleases) {
  LeadFor(1, [&](doclock::HeldLock& lock, const std::stop_token& over) {
    EXPECT_TRUE(over.stop_requested());
    EXPECT_FALSE(IsFree());
    Publish(prices, lock);
  });
  EXPECT_TRUE(IsFree());
  EXPECT_EQ(Round(), 1);
}

TEST_P(LeaderElectionRecipe, DoesNotLeadWhileAnotherDoes) {
  std::optional<doclock::HeldLock> theirs =
      doclock::LockProvider(other, "leaders").Acquire("prices", {.ttl = 20s, .renew = false});
  const doclock::TimePoint before = clock->Now();
  LeadFor(1, [&](doclock::HeldLock&, const std::stop_token&) {
    EXPECT_GE(clock->Now() - before, 20s);
    EXPECT_FALSE(theirs->held());
  });
}

TEST_P(LeaderElectionRecipe, StopsWhenTheLockIsBrokenAndLeadsAgainUnderAHigherFence) {
  LeadFor(2, [&](doclock::HeldLock& lock, const std::stop_token& over) {
    if (fences.size() == 2) return;
    doclock::testing::BreakLock(*store, "leaders", "prices");
    EXPECT_FALSE(over.stop_requested());
    clock->Advance(11s);  // a third of the ttl, when the lock is renewed
    EXPECT_TRUE(over.stop_requested());
    EXPECT_FALSE(lock.held());
  });
  EXPECT_GT(fences.back(), fences.front());
}

TEST_P(LeaderElectionRecipe, StopsWhenTheStoreIsAwayForLongerThanTheLease) {
  LeadFor(2, [&](doclock::HeldLock&, const std::stop_token& over) {
    if (fences.size() == 2) return;
    store->Inject({.kind = Fault::Kind::kErrorBefore, .times = INT_MAX});
    clock->Advance(31s);
    EXPECT_TRUE(over.stop_requested());
    store->Heal();
  });
}

TEST_P(LeaderElectionRecipe, WaitsThroughAnOutage) {
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = doclock::OpKind::kAcquire, .times = 100});
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = doclock::OpKind::kAcquire});
  LeadFor(1, [&](doclock::HeldLock& lock, const std::stop_token&) { Publish(prices, lock); });
  EXPECT_EQ(Round(), 1);
}

TEST_P(LeaderElectionRecipe, ACandidateThatPreparesChangesNothingOfTheLeaders) {
  const std::int64_t version = prices.Find("today").value().version();
  Prepare(prices);
  EXPECT_EQ(prices.Find("today").value().version(), version);
}

TEST_P(LeaderElectionRecipe, ALeaderThatWasOvertakenUnnoticedWritesNothing) {
  LeadFor(2, [&](doclock::HeldLock& lock, const std::stop_token& over) {
    if (fences.size() == 1) {
      doclock::testing::StealLock(*store, "leaders", "prices");
      EXPECT_FALSE(over.stop_requested()) << "it has not heard of it";
      EXPECT_TRUE(lock.held());
    }
    Publish(prices, lock);
  });
  EXPECT_EQ(Round(), 1) << "of the second term only";
  EXPECT_GT(fences.back(), fences.front());
}

TEST_P(LeaderElectionRecipe, WhatTheWorkThrowsEndsItAndReleasesTheLock) {
  const Term broken = [](doclock::HeldLock&, const std::stop_token&) {
    throw std::runtime_error("no prices");
  };
  EXPECT_THROW(LeadFor(1, broken), std::runtime_error);
  clock->RunPending();
  EXPECT_TRUE(IsFree());
}

}  // namespace
