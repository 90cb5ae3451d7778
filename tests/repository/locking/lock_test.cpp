#include "repository/support/harness.h"

namespace doclock {
namespace {

class LockTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(LockTest);

TEST_P(LockTest, LocksAFreeDocument) {
  sagas.Insert(Saga{"42", "new", 3});
  auto saga = sagas.Lock("42");
  EXPECT_TRUE(saga.held());
  EXPECT_FALSE(saga.created());
  EXPECT_EQ(saga.key(), Key("42"));
  EXPECT_EQ(saga->id, "42");
  EXPECT_EQ(saga->step, "new");
  EXPECT_EQ(saga->attempts, 3);
  EXPECT_FALSE(saga.lock_id().is_nil());
  EXPECT_GT(saga.Remaining(), 29s);
  EXPECT_FALSE(saga.lost().stop_requested());
  EXPECT_TRUE(IsLocked("42"));
}

TEST_P(LockTest, AMissingDocumentIsNotFound) {
  EXPECT_THROW((void)sagas.Lock("42"), NotFoundException);
  EXPECT_THROW((void)sagas.TryLock("42"), NotFoundException);
  EXPECT_FALSE(Stored("42"));
}

TEST_P(LockTest, MakesAMissingDocumentFromTheEntity) {
  auto saga = sagas.Lock({"42", Saga{"42", "new", 1}});
  EXPECT_TRUE(saga.created());
  EXPECT_EQ(saga->step, "new");
  EXPECT_EQ(Stored("42"), json({{"step", "new"}, {"attempts", 1}}));
  EXPECT_TRUE(sagas.Lock(Saga{"43", "new"}).created());
}

TEST_P(LockTest, TheStoredBodyWinsOverTheEntity) {
  sagas.Insert(Saga{"42", "old", 7});
  auto saga = sagas.Lock({"42", Saga{"42", "new", 1}});
  EXPECT_FALSE(saga.created());
  EXPECT_EQ(saga->step, "old");
  EXPECT_EQ(saga->attempts, 7);
}

TEST_P(LockTest, ALockedDocumentIsBusy) {
  auto saga = sagas.Lock({"42", Saga{"42"}}, {.owner = "first"});
  try {
    (void)sagas.Lock("42");
    FAIL();
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kBusy);
    EXPECT_EQ(error.holder().name, "first");
    ASSERT_TRUE(error.remaining());
    EXPECT_GT(*error.remaining(), 0ms);
    EXPECT_NE(std::string(error.what()).find("42"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("sagas"), std::string::npos);
  }
  EXPECT_FALSE(sagas.TryLock("42"));
  EXPECT_FALSE(sagas.TryLock(Saga{"42"}));
  EXPECT_FALSE(sagas.TryLock({"42", Saga{"42"}}, {.wait = 1s}));
  EXPECT_EQ(CodeOf([&] { (void)sagas.Lock("42", {.wait = 5s}); }), Errc::kTimedOut);
  EXPECT_TRUE(saga.held());
}

TEST_P(LockTest, AnExpiredLockIsTaken) {
  auto first = sagas.Lock({"42", Saga{"42", "mine"}}, {.renew = false});
  const auto fence = first.fence();
  clock->Advance(31s);
  EXPECT_FALSE(first.held());
  EXPECT_TRUE(first.lost().stop_requested());
  EXPECT_EQ(first.Remaining(), 0s);
  auto second = sagas.Lock("42");
  EXPECT_GT(second.fence(), fence);
  first->step = "stale";
  EXPECT_EQ(CodeOf([&] { first.Release(); }), Errc::kLost);
  EXPECT_EQ(second->step, "mine");
}

TEST_P(LockTest, RenewsUntilReleased) {
  auto saga = sagas.Lock({"42", Saga{"42"}});
  clock->Advance(1h);
  EXPECT_TRUE(saga.held());
  saga.Release();
  EXPECT_FALSE(saga.held());
}

TEST_P(LockTest, TheVersionRisesWithEachGrantAndWriteAndSurvivesRelease) {
  auto saga = sagas.Lock({"42", Saga{"42"}});
  std::int64_t last = saga.fence();
  EXPECT_GT(last, 0);
  EXPECT_EQ(saga.version(), last);
  saga.Save();
  EXPECT_GT(saga.version(), last);
  EXPECT_EQ(saga.fence(), last);
  last = saga.version();
  saga.Release();
  EXPECT_GT(Version("42"), last);
  last = Version("42");
  auto again = sagas.Lock("42");
  EXPECT_GT(again.fence(), last);
  last = again.fence();
  again.Discard();
  EXPECT_GE(Version("42"), last);
}

TEST_P(LockTest, LeavingScopeUnlocksAndChangesNothing) {
  {
    auto saga = sagas.Lock({"42", Saga{"42", "old"}});
    saga->step = "new";
  }
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
  EXPECT_EQ((*Stored("42"))["step"], "old");
}

TEST_P(LockTest, AHandleMovesAndTheEntityStays) {
  auto first = sagas.Lock({"42", Saga{"42"}});
  Saga& entity = *first;
  Locked<Saga> second = std::move(first);
  EXPECT_EQ(&*second, &entity);
  EXPECT_FALSE(first.held());  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(first.Release(), std::logic_error);
  EXPECT_THROW((void)*first, std::logic_error);
  second = Locked<Saga>();
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
}

TEST_P(LockTest, AnEmptyHandleRefusesEveryVerb) {
  Locked<Saga> none;
  EXPECT_FALSE(none);
  EXPECT_THROW((void)none->step, std::logic_error);
  EXPECT_THROW((void)none.key(), std::logic_error);
  EXPECT_THROW(none.Save(), std::logic_error);
  EXPECT_THROW(none.Release(), std::logic_error);
  EXPECT_THROW(none.Discard(), std::logic_error);
  EXPECT_THROW(none.Erase(), std::logic_error);
  EXPECT_THROW(none.Detach(), std::logic_error);
  EXPECT_THROW((void)none.ReleaseAsync(), std::logic_error);
}

TEST_P(LockTest, AStopTokenEndsAWait) {
  auto saga = sagas.Lock({"42", Saga{"42"}});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(CodeOf([&] { (void)sagas.Lock("42", {.wait = kForever}, stop.get_token()); }),
            Errc::kCancelled);
  EXPECT_THROW((void)sagas.TryLock("42", {.wait = kForever}, stop.get_token()), LockException);
}

TEST_P(LockTest, MinHoldKeepsTheLockClosedAfterItsRelease) {
  sagas.Lock({"42", Saga{"42"}}, {.min_hold = 1min}).Release();
  EXPECT_FALSE(IsLocked("42"));
  EXPECT_FALSE(sagas.TryLock("42"));
  EXPECT_EQ(CodeOf([&] { (void)sagas.Lock("42"); }), Errc::kBusy);
  EXPECT_FALSE(sagas.TryLockNext({}));
  clock->Advance(50s);
  EXPECT_FALSE(sagas.TryLock("42"));
  const auto before = clock->Now();
  sagas.Lock("42", {.wait = 1min}).Release();
  EXPECT_GE(clock->Now() - before, 9s);
  EXPECT_TRUE(sagas.TryLock("42")) << "closed by a lock that asks for it, once";
}

TEST_P(LockTest, WithStoresWhatTheFunctionDid) {
  sagas.Insert(Saga{"42", "new"});
  EXPECT_EQ(sagas.With("42",
                       [](Saga& saga) {
                         saga.step = "paid";
                         return ++saga.attempts;
                       }),
            1);
  sagas.With({"43", Saga{"43"}}, [](Saga& saga) { saga.step = "made"; }, {.wait = 1s});
  EXPECT_EQ(sagas.With(Saga{"43"}, [](Saga& saga) { return saga.step; }, {.wait = 1s}), "made");
  EXPECT_EQ((*Stored("42"))["step"], "paid");
  EXPECT_EQ((*Stored("43"))["step"], "made");
  EXPECT_FALSE(IsLocked("42"));
}

TEST_P(LockTest, WithLeavesTheDocumentAloneWhenTheFunctionThrows) {
  sagas.Insert(Saga{"42", "new"});
  EXPECT_THROW(sagas.With("42",
                          [](Saga& saga) {
                            saga.step = "half";
                            throw std::domain_error("no");
                          }),
               std::domain_error);
  clock->RunPending();
  EXPECT_EQ((*Stored("42"))["step"], "new");
  EXPECT_FALSE(IsLocked("42"));
}

}  // namespace
}  // namespace doclock
