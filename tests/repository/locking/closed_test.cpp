/// What is asked of a closed manager, and asks no store.

#include "repository/support/harness.h"

namespace doclock {
namespace closed_test {
namespace {

class ClosedTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(ClosedTest);

TEST_P(ClosedTest, LockingNothingFails) {
  manager.Close();
  EXPECT_EQ(CodeOf([&] { (void)sagas.LockAll({}); }), Errc::kClosed);
  EXPECT_EQ(CodeOf([&] { (void)sagas.TryLockAll({}); }), Errc::kClosed);
  EXPECT_EQ(CodeOf([&] { (void)Get(sagas.LockAllAsync({})); }), Errc::kClosed);
}

TEST_P(ClosedTest, HousekeepingFails) {
  sagas.Insert(Saga{"42"});
  manager.Close();
  EXPECT_EQ(CodeOf([&] { sagas.Admin().Purge(); }), Errc::kClosed);
  EXPECT_EQ(CodeOf([&] { sagas.EnsureIndex({"step"}); }), Errc::kClosed);
  EXPECT_EQ(CodeOf([&] { sagas.EnsureIndexes(); }), Errc::kClosed);
  EXPECT_EQ(CodeOf([&] { (void)sagas.Admin().Status(); }), Errc::kClosed);
}

}  // namespace
}  // namespace closed_test
}  // namespace doclock
