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

TEST_P(LockTest, MakesAMissingDocumentFromTheEntity) {
  auto saga = sagas.Lock({"42", Saga{"42", "new", 1}});
  EXPECT_TRUE(saga.created());
  EXPECT_EQ(saga->step, "new");
  EXPECT_EQ(Stored("42"), json({{"step", "new"}, {"attempts", 1}}));
  EXPECT_TRUE(sagas.Lock(Saga{"43", "new"}).created());
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

}  // namespace
}  // namespace doclock
