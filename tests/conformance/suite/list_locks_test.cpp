#include "store_conformance.h"

namespace doclock::conformance {
namespace {

/// The locks that a store shows, in the order of their keys.
std::vector<LockRow> List(Client& client, const LockQuery& query = {}) {
  std::vector<LockRow> rows = client.Locks(query);
  std::sort(rows.begin(), rows.end(),
            [](const LockRow& a, const LockRow& b) { return a.key < b.key; });
  return rows;
}

TEST_P(StoreConformance, ListsHeldLocksWithTheirAge) {
  things_.Create("42");
  clock().Advance(10s);
  const std::vector<LockRow> rows = List(things_);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_FALSE(rows[0].has_body);
  EXPECT_GE(rows[0].age, 10s);
}

TEST_P(StoreConformance, ListsItsCollectionsOrRefuses) {
  things_.Insert("42", Json::object());
  try {
    const std::vector<std::string> names = store().ListCollections(10s);
    EXPECT_EQ(std::count(names.begin(), names.end(), things_.collection().name()), 1);
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
  }
}

TEST_P(StoreConformance, ListsTheFenceOfTheGrantWhateverWasSavedSince) {
  const AcquireOp named = things_.Create("named");
  things_.Release("named", named);
  const std::int64_t again = things_.Acquire("named").result.version;
  const AcquireOp grant = things_.Create("saved", {{"n", 1}});
  const WriteOp save =
      things_.Write("saved", WriteKind::kCheckpoint, grant.request.grant.lock_id,
                    {.expected = grant.result.version, .body = MakeBody({{"n", 2}})});
  const std::vector<LockRow> rows = List(things_);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].fence, again);
  EXPECT_EQ(rows[1].version, save.result.version);
  EXPECT_EQ(rows[1].fence.value_or(grant.result.version), grant.result.version);
}

TEST_P(StoreConformance, ListsTheFenceOfEachShare) {
  const auto share = [&](Body insert) {
    return things_.Acquire(
        "42", {.insert = std::move(insert), .mode = LockMode::kShared, .max_holders = 3});
  };
  const AcquireOp first = share(MakeBody(Json::object()));
  const AcquireOp second = share({});
  things_.Renew("42", first.request.grant.lock_id, kTtl, LockMode::kShared);
  const std::vector<LockRow> rows = things_.Locks();
  ASSERT_EQ(rows.size(), 2U);
  for (const LockRow& row : rows) {
    EXPECT_EQ(row.fence, row.lock_id == first.request.grant.lock_id ? first.result.version
                                                                    : second.result.version);
  }
}

TEST_P(StoreConformance, ListsFreeDocumentsIfAsked) {
  things_.Insert("body", {{"n", 1}});
  things_.Release("closed", things_.Create("closed", Json::object(), {.min_hold = 1h}));
  things_.Release("empty", things_.Create("empty"));
  clock().Advance(2 * kTtl);
  const std::vector<LockRow> rows = List(things_, {.unheld = true});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[0].has_body);
  EXPECT_TRUE(rows[1].closed);
  EXPECT_FALSE(rows[2].has_body || rows[2].closed || rows[2].live);
  EXPECT_TRUE(rows[2].lock_id.is_nil());
  EXPECT_GE(rows[2].age, kTtl);
}

TEST_P(StoreConformance, ALockHeldForLongIsNotIdleOnceItIsReleased) {
  const AcquireOp grant = things_.Create("42");
  for (int i = 0; i < 10; ++i) {
    clock().Advance(20s);
    ASSERT_EQ(things_.Renew("42", grant.request.grant.lock_id).status, OpStatus::kDone);
  }
  things_.Release("42", grant);
  const std::vector<LockRow> rows = List(things_, {.unheld = true});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_LE(rows[0].age, kTtl);
}

TEST_P(StoreConformance, ListsOwnersAndGroupsAsTheyWereGiven) {
  const std::string odd("a\0\x01\x02\\u0000\n\x7f", 12);
  things_.Create("alone", nlohmann::json::object(), {.owner = odd, .group = odd});
  const AcquireArgs share{.insert = MakeBody(nlohmann::json::object()),
                          .owner = odd,
                          .group = odd,
                          .mode = LockMode::kShared,
                          .max_holders = 3};
  things_.Acquire("shared", share);
  const AcquireOp released = things_.Create("by short cut", nlohmann::json::object());
  things_.Release("by short cut", released);
  things_.Acquire("by short cut", {.owner = odd, .group = odd});
  EXPECT_EQ(DetailOf(things_.Acquire("alone")).holder.name, odd);
  const std::vector<LockRow> rows = things_.Locks({.group = odd});
  EXPECT_EQ(rows.size(), 3U);
  for (const LockRow& row : rows) {
    EXPECT_EQ(row.holder.name, odd) << row.key.ToString();
    EXPECT_EQ(row.group, odd) << row.key.ToString();
  }
}

TEST_P(StoreConformance, ListsEachLockOnceHoweverManyPagesThereAre) {
  constexpr std::size_t kLocks = 2500;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < kLocks; ++i) {
    // Of two types: pages follow each other across types too.
    keys.push_back(i % 2 == 0 ? Key("k" + std::to_string(i)) : Key(static_cast<std::int64_t>(i)));
  }
  std::vector<AcquireOp> grants;
  for (const Key& key : keys) {
    AcquireOp& op = grants.emplace_back(things_.collection(), key);
    op.request.grant = {.lock_id = FreshId(), .ttl = 1h};
    op.request.insert = MakeBody(Json::object());
  }
  for (std::size_t i = 0; i < kLocks; i += 100) {
    std::vector<StoreOp*> some;
    for (std::size_t j = i; j < i + 100; ++j) some.push_back(&grants[j]);
    store().Execute(some, kBudget);
  }
  things_.Release(keys[0], grants[0]);
  std::sort(keys.begin(), keys.end());
  for (const bool unheld : {false, true}) {
    std::vector<Key> shown;
    for (const LockRow& row : List(things_, {.unheld = unheld})) {
      shown.push_back(row.key);
    }
    EXPECT_EQ(shown.size(), kLocks - (unheld ? 0 : 1));
    EXPECT_TRUE(std::includes(keys.begin(), keys.end(), shown.begin(), shown.end()));
    EXPECT_EQ(std::adjacent_find(shown.begin(), shown.end()), shown.end());
  }
}

}  // namespace
}  // namespace doclock::conformance
