#include "repository/harness.h"

namespace doclock {
namespace {

class LockAllTest : public RepositoryTest {
 protected:
  void SetUp() override {
    for (const char* key : {"a", "b", "c"}) sagas.Insert(Saga{key});
  }
};
DOCLOCK_FOR_ALL_STORES(LockAllTest);

TEST_P(LockAllTest, LocksEachKeyOnceInOrder) {
  auto all = sagas.LockAll({"c", "a", "b", "a"});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]->id, "a");
  EXPECT_EQ(all[1]->id, "b");
  EXPECT_EQ(all[2]->id, "c");
  for (auto& saga : all) saga.Release();
}

TEST_P(LockAllTest, NoKeysAreNoLocks) {
  EXPECT_TRUE(sagas.LockAll({}).empty());
  EXPECT_TRUE(Get(sagas.LockAllAsync({})).empty());
}

TEST_P(LockAllTest, IsAllOrNothing) {
  auto b = sagas.Lock("b");
  try {
    (void)sagas.LockAll({"a", "b", "c"});
    FAIL();
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kBusy);
    EXPECT_NE(std::string(error.what()).find("'b'"), std::string::npos);
  }
  EXPECT_FALSE(sagas.TryLockAll({"a", "b", "c"}));
  EXPECT_FALSE(Get(sagas.TryLockAllAsync({"a", "b", "c"})));
  clock->RunPending();
  EXPECT_FALSE(IsLocked("a"));
  EXPECT_FALSE(IsLocked("c"));
}

TEST_P(LockAllTest, AMissingDocumentIsNamed) {
  try {
    (void)sagas.LockAll({"a", "missing"});
    FAIL();
  } catch (const NotFoundException& error) {
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
  }
  EXPECT_THROW((void)sagas.TryLockAll({"missing"}), NotFoundException);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("a"));
}

TEST_P(LockAllTest, ThePatienceIsForAllTogether) {
  LockingRepository<Saga> others(AnotherManager(), "sagas");
  auto a = others.Lock("a", {.ttl = 4s, .renew = false});
  auto b = others.Lock("b", {.ttl = 8s, .renew = false});
  auto c = others.Lock("c", {.ttl = 1h, .renew = false});
  const auto begin = clock->Now();
  EXPECT_EQ(CodeOf([&] { (void)sagas.LockAll({"a", "b", "c"}, {.wait = 12s}); }), Errc::kTimedOut);
  EXPECT_GE(clock->Now() - begin, 12s);
  EXPECT_LT(clock->Now() - begin, 14s);
}

TEST_P(LockAllTest, WaitsAsynchronously) {
  auto b = sagas.Lock("b");
  auto all = sagas.LockAllAsync({"a", "b"}, {.wait = kForever});
  clock->Advance(1min);
  EXPECT_EQ(all.wait_for(0s), std::future_status::timeout);
  b.Release();
  clock->RunPending();
  EXPECT_EQ(all.get().size(), 2U);
}

TEST_P(LockAllTest, ALeaseThatEndedMeanwhileIsLost) {
  LockingRepository<Saga> others(AnotherManager(), "sagas");
  auto b = others.Lock("b", {.ttl = 10s, .renew = false});
  EXPECT_EQ(CodeOf([&] {
              (void)sagas.LockAll({"a", "b"}, {.ttl = 1s, .wait = 1min, .renew = false});
            }),
            Errc::kLost);
}

}  // namespace
}  // namespace doclock
