#include <climits>

#include "repository/support/harness.h"

namespace doclock {
namespace {

class ValueReleaseTest : public RepositoryTest {
 protected:
  LockingRepository<Order> orders{manager, "orders"};
};
DOCLOCK_FOR_ALL_STORES(ValueReleaseTest);

TEST_P(ValueReleaseTest, TheEntityCarriesItsLock) {
  auto order = orders.Lock({"1", Order{"1", 10, {}}});
  ASSERT_TRUE(order->lock.id);
  EXPECT_EQ(*order->lock.id, order.lock_id());
  EXPECT_TRUE(order->lock.time);
  EXPECT_EQ(order->lock.version, order.fence());
  order.Save();
  EXPECT_EQ(order->lock.version, order.version());
  order.Release();
  EXPECT_FALSE(order->lock.id);
  EXPECT_FALSE(order->lock.time);
  EXPECT_EQ(order->lock.version, Version("1", "orders"));
}

TEST_P(ValueReleaseTest, DoubtSaysWhatItIsAbout) {
  const auto text_of = [&](const auto& verb) -> std::string {
    store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .times = INT_MAX});
    store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kSave, .times = INT_MAX});
    store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRead, .times = INT_MAX});
    try {
      verb();
    } catch (const InDoubtException& e) {
      store->Heal();
      return e.what();
    }
    return "there was no doubt";
  };
  auto order = orders.Lock({"1", Order{"1", 10, {}}});
  auto erased = orders.Lock({"2", Order{"2", 10, {}}});
  using ::testing::HasSubstr;
  EXPECT_THAT(text_of([&] { orders.ReleaseLock(*order); }), HasSubstr("was released is unknown"));
  EXPECT_THAT(text_of([&] { erased.Erase(); }), HasSubstr("was erased is unknown"));
  EXPECT_THAT(text_of([&] { order.Save(); }), HasSubstr("was written is unknown"));
  EXPECT_THAT(text_of([&] {
                orders.Insert(Order{"3", 1, {}});
              }),
              HasSubstr("was written is unknown"));
  EXPECT_THAT(text_of([&] { orders.Erase("1"); }), HasSubstr("was erased is unknown"));
}

TEST_P(ValueReleaseTest, ASnapshotCarriesNoLock) {
  auto order = orders.Lock({"1", Order{"1", 10, {}}});
  const auto found = orders.Find("1");
  EXPECT_FALSE((*found)->lock.id);
  EXPECT_EQ((*found)->lock.version, found->version());
}

TEST_P(ValueReleaseTest, WorksFromACopyOfTheEntity) {
  auto handle = orders.Lock({"1", Order{"1", 10, {}}});
  Order copy = *handle;
  copy.total = 11;
  orders.ReleaseLock(copy);
  EXPECT_FALSE(IsLocked("1", "orders"));
  EXPECT_EQ(Stored("1", "orders"), json({{"total", 11}}));
  EXPECT_EQ(CodeOf([&] { handle.Release(); }), Errc::kLost);
}

TEST_P(ValueReleaseTest, WorksFromAnotherProcess) {
  Order order = [&] {
    auto handle = orders.Lock({"1", Order{"1", 10, {}}});
    handle.Detach();
    return *handle;
  }();
  order.total = 13;
  LockingRepository<Order> others(AnotherManager(), "orders");
  Get(others.ReleaseLockAsync(order));
  EXPECT_EQ(Stored("1", "orders"), json({{"total", 13}}));
}

TEST_P(ValueReleaseTest, ARenewalByItsIdTellsTheNewLease) {
  auto order = orders.Lock({"1", Order{"1", 10, {}}}, {.ttl = 10s, .renew = false});
  const LockAdmin admin = orders.Admin();
  EXPECT_EQ(admin.Renew("1", order->lock).ttl, 10s);
  const LockStatus told = admin.Renew("1", order->lock, 60s);
  EXPECT_EQ(told.ttl, 60s);
  EXPECT_EQ(told.remaining, 60s);
  EXPECT_EQ(admin.Status({.key = Key("1")}).at(0).ttl, told.ttl);
}

TEST_P(ValueReleaseTest, FieldsThatTNeverKnewStay) {
  Put("1", {{"total", 1}, {"foreign", true}}, "orders");
  auto handle = orders.Lock("1");
  Order order = *handle;
  order.total = 2;
  orders.ReleaseLock(order);
  EXPECT_EQ(Stored("1", "orders"), json({{"total", 2}, {"foreign", true}}));
}

TEST_P(ValueReleaseTest, ANullLockIdNeverMatches) {
  orders.Insert(Order{"1", 10, {}});
  store->Reset();
  EXPECT_EQ(CodeOf([&] { orders.ReleaseLock(Order{"1", 99, {}}); }), Errc::kNotOwner);
  EXPECT_EQ(Writes(), 0);
  EXPECT_EQ(Stored("1", "orders"), json({{"total", 10}}));
  EXPECT_EQ(CodeOf([&] { Get(orders.ReleaseLockAsync(Order{"1", 99, {}})); }), Errc::kNotOwner);
}

TEST_P(ValueReleaseTest, TwiceIsNotOwner) {
  auto handle = orders.Lock({"1", Order{"1", 10, {}}});
  Order order = *handle;
  orders.ReleaseLock(order);
  order.total = 99;
  EXPECT_EQ(CodeOf([&] { orders.ReleaseLock(order); }), Errc::kNotOwner);
  EXPECT_EQ(Stored("1", "orders"), json({{"total", 10}}));
}

}  // namespace
}  // namespace doclock
