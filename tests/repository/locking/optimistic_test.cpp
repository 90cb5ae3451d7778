#include "repository/support/harness.h"

namespace doclock {
namespace {

class OptimisticTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(OptimisticTest);

TEST_P(OptimisticTest, FindByFilterIsInItsOrder) {
  for (int i = 0; i < 5; ++i) sagas.Insert(Saga{std::to_string(i), i % 2 ? "odd" : "even", -i});
  std::vector<std::string> ids;
  for (auto& found : sagas.Find(Filter{}.Equal("step", "even").OrderBy("attempts"))) {
    ids.push_back(found->id);
    EXPECT_EQ(found.key(), Key(found->id));
    EXPECT_FALSE(found.locked());
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"4", "2", "0"}));
  EXPECT_EQ(Get(sagas.FindAsync(Filter{}.Limit(2))).size(), 2U);
}

TEST_P(OptimisticTest, ForEachStopsOnFalseAndMayCallTheLibrary) {
  for (int i = 0; i < 5; ++i) sagas.Insert(Saga{std::to_string(i)});
  int seen = 0;
  sagas.ForEach(Filter{}.OrderBy("attempts"), [&](Snapshot<Saga>& saga) {
    saga->step = "seen";
    sagas.Save(saga);
    return ++seen < 3;
  });
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(sagas.Find(Filter{}.Equal("step", "seen")).size(), 3U);
  sagas.ForEach(Filter{}, [&](const Snapshot<Saga>&) { ++seen; });
  EXPECT_EQ(seen, 8);
  EXPECT_THROW(sagas.ForEach(Filter{}, [](Snapshot<Saga>&) { throw std::domain_error("no"); }),
               std::domain_error);
}

TEST_P(OptimisticTest, SaveStoresIfTheDocumentIsUnchanged) {
  Put("42", {{"step", "new"}, {"foreign", 1}});
  auto saga = sagas.Find("42");
  const auto version = saga->version();
  (*saga)->step = "paid";
  sagas.Save(*saga);
  EXPECT_GT(saga->version(), version);
  EXPECT_EQ(Stored("42"), json({{"step", "paid"}, {"attempts", 0}, {"foreign", 1}}));
  (*saga)->step = "sent";
  EXPECT_TRUE(sagas.TrySave(*saga));
  (*saga)->step = "done";
  Get(sagas.SaveAsync(*saga));
  EXPECT_TRUE(Get(sagas.TrySaveAsync(*saga)));
  EXPECT_EQ((*Stored("42"))["step"], "done");
  EXPECT_EQ(saga->version(), Version("42"));
}

TEST_P(OptimisticTest, SaveMeetsAnotherVersion) {
  sagas.Insert(Saga{"42", "new"});
  auto mine = sagas.Find("42");
  auto other = sagas.Find("42");
  sagas.Save(*other);
  (*mine)->step = "stale";
  const auto error = ThrownBy<ConflictException>([&] { sagas.Save(*mine); });
  EXPECT_EQ(error.expected(), mine->version());
  EXPECT_EQ(error.found(), other->version());
  EXPECT_FALSE(sagas.TrySave(*mine));
  EXPECT_FALSE(Get(sagas.TrySaveAsync(*mine)));
  EXPECT_EQ((*Stored("42"))["step"], "new");
}

TEST_P(OptimisticTest, EraseDeletes) {
  sagas.Insert(Saga{"42"});
  EXPECT_TRUE(sagas.Erase("42"));
  EXPECT_FALSE(sagas.Erase("42"));
  sagas.Insert(Saga{"42"});
  EXPECT_TRUE(Get(sagas.EraseAsync("42")));
  EXPECT_FALSE(Get(sagas.EraseAsync("42")));
  sagas.Insert(Saga{"42"});
  auto old = sagas.Find("42");
  auto fresh = sagas.Find("42");
  sagas.Save(*fresh);
  EXPECT_THROW(sagas.Erase(*old), ConflictException);
  EXPECT_THROW(Get(sagas.EraseAsync(*old)), ConflictException);
  sagas.Erase(*fresh);
  EXPECT_FALSE(Stored("42"));
  EXPECT_THROW(sagas.Erase(*fresh), NotFoundException);
}

TEST_P(OptimisticTest, PurgeForgetsOnlyDocumentsThatHoldNothingElse) {
  sagas.Insert("42", Saga{"42"});
  const LockProvider names{sagas.manager(), "sagas"};
  names.Acquire("name").Release();
  EXPECT_THROW(sagas.Admin().Purge({.forget = true}), std::invalid_argument);
  clock->Advance(std::chrono::hours(2));
  const PurgeResult result =
      sagas.Admin().Purge({.forget = true, .idle_for = std::chrono::hours(1)});
  EXPECT_EQ(result.forgotten, 1);
  EXPECT_TRUE(Stored("42"));
}

}  // namespace
}  // namespace doclock
