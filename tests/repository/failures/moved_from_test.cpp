/// Objects that were moved from say so.

#include "doclock/json/bson.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

class MovedFromTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(MovedFromTest);

// NOLINTBEGIN(bugprone-use-after-move)
TEST_P(MovedFromTest, ARepository) {
  LockingRepository<Saga> from{manager, "sagas"};
  const auto to = std::move(from);
  to.Insert(Saga{"1"});
  EXPECT_THROW((void)from.Find("1"), std::logic_error);
  EXPECT_THROW((void)from.Find(Filter{}), std::logic_error);
  EXPECT_THROW((void)from.Lock("1"), std::logic_error);
  EXPECT_THROW((void)from.LockAsync("1"), std::logic_error);
  EXPECT_THROW(from.Update("1", [](Saga&) {}), std::logic_error);
  EXPECT_THROW((void)from.Admin(), std::logic_error);
  EXPECT_THROW((void)from.name(), std::logic_error);
  EXPECT_THROW((void)from.manager(), std::logic_error);
}

TEST_P(MovedFromTest, ALockProvider) {
  LockProvider from{manager};
  const auto to = std::move(from);
  EXPECT_THROW((void)from.Acquire("x"), std::logic_error);
  EXPECT_THROW((void)from.AcquireAsync("x"), std::logic_error);
  EXPECT_THROW((void)from.AcquireAll({"x"}), std::logic_error);
  EXPECT_THROW((void)from.Mutex("x"), std::logic_error);
  EXPECT_THROW((void)from.Admin(), std::logic_error);
  EXPECT_THROW(from.EnsureIndexes(), std::logic_error);
  EXPECT_THROW((void)from.collection(), std::logic_error);
  EXPECT_THROW((void)from.manager(), std::logic_error);
}

TEST_P(MovedFromTest, ALockAdmin) {
  LockAdmin from = sagas.Admin();
  const auto to = std::move(from);
  EXPECT_TRUE(to.Status().empty());
  EXPECT_THROW((void)from.Status(), std::logic_error);
  EXPECT_THROW((void)from.Purge(), std::logic_error);
  EXPECT_THROW((void)from.Break("x"), std::logic_error);
  EXPECT_THROW((void)from.Renew("x", {}), std::logic_error);
  EXPECT_THROW((void)from.Release("x", {}), std::logic_error);
  EXPECT_THROW((void)from.RenewGroup("g"), std::logic_error);
  EXPECT_THROW((void)from.ReleaseGroup("g"), std::logic_error);
}

TEST_P(MovedFromTest, ALockManager) {
  LockManager from = AnotherManager();
  const LockManager to = std::move(from);
  EXPECT_THROW((void)from.store(), std::logic_error);
  EXPECT_THROW((LockingRepository<Saga>{from, "sagas"}), std::logic_error);
  EXPECT_THROW(LockProvider{from}, std::logic_error);
  from.Close();
}

TEST_P(MovedFromTest, ASnapshot) {
  sagas.Insert(Saga{"1"});
  auto from = sagas.Find("1").value();
  const auto to = std::move(from);
  EXPECT_FALSE(from);
  EXPECT_THROW((void)from->step, std::logic_error);
  EXPECT_THROW((void)*from, std::logic_error);
  EXPECT_THROW((void)from.key(), std::logic_error);
  EXPECT_THROW((void)from.version(), std::logic_error);
  EXPECT_THROW((void)from.locked(), std::logic_error);
  EXPECT_THROW(sagas.Save(from), std::logic_error);
}

TEST(MovedFrom, ADecimalIsStillANumber) {
  Decimal128 from("12.50");
  const Decimal128 to = std::move(from);
  EXPECT_EQ(from, to);
}
// NOLINTEND(bugprone-use-after-move)

}  // namespace
}  // namespace doclock
