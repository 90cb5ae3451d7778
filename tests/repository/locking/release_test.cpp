#include <map>

#include "repository/support/harness.h"

namespace doclock {
namespace {

class ReleaseTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(ReleaseTest);

TEST_P(ReleaseTest, RevertGivesTheEntityBackAsItIsStored) {
  Put("42", {{"step", "new"}, {"foreign", 1}});
  auto saga = sagas.Lock("42");
  const Saga* const place = &*saga;
  saga->step = "paid";
  store->Reset();
  saga.Revert();
  EXPECT_EQ(saga->step, "new");
  EXPECT_EQ(&*saga, place);
  saga->step = "half";
  saga.Save();
  saga->step = "whole";
  saga.Revert();
  EXPECT_EQ(saga->step, "half");
  EXPECT_EQ(store->Calls(), 1) << "only Save asks the store";
  EXPECT_TRUE(saga.held());
  saga.Release();
  EXPECT_EQ(Stored("42"), json({{"step", "half"}, {"attempts", 0}, {"foreign", 1}}));
  EXPECT_THROW(saga.Revert(), std::logic_error);
}

TEST_P(ReleaseTest, RevertKeepsTheLockThatTheEntityCarries) {
  const LockingRepository<Order> orders(manager, "orders");
  auto order = orders.Lock(Order{"7", 30, {}});
  order->total = 0;
  order->lock = {};
  order.Revert();
  EXPECT_EQ(order->total, 30);
  EXPECT_EQ(order->lock.id, order.lock_id());
}

TEST_P(ReleaseTest, AUniqueIndexLeavesTheLockHeldToBeMended) {
  sagas.EnsureIndex({"step"}, true);
  sagas.Insert(Saga{"1", "taken"});
  auto saga = sagas.Lock({"2", Saga{"2", "free"}});
  saga->step = "taken";
  EXPECT_THROW(saga.Release(), ConflictException);
  EXPECT_TRUE(saga.held());
  saga->step = "other";
  saga.Release();
  EXPECT_EQ((*Stored("2"))["step"], "other");
}

TEST_P(ReleaseTest, AnEntityThatCannotBeWrittenLeavesTheLockHeld) {
  LockingRepository<Fragile> repository(manager, "fragile");
  auto handle = repository.Lock({"1", Fragile{"1"}});
  handle->broken = true;
  EXPECT_THROW(handle.Release(), std::runtime_error);
  EXPECT_THROW((void)handle.ReleaseAsync(), std::runtime_error);
  EXPECT_THROW(handle.Save(), std::runtime_error);
  EXPECT_TRUE(handle.held());
  EXPECT_TRUE(IsLocked("1", "fragile"));
  handle->broken = false;
  handle.Release();
}

TEST_P(ReleaseTest, AChangedKeyLeavesTheLockHeld) {
  auto saga = sagas.Lock({"42", Saga{"42"}});
  saga->id = "43";
  EXPECT_THROW(saga.Release(), std::invalid_argument);
  EXPECT_TRUE(saga.held());
  EXPECT_FALSE(Stored("43"));
}

}  // namespace
}  // namespace doclock
