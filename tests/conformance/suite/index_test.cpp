#include <array>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

class UniqueIndex : public StoreConformance {
 protected:
  UniqueIndex() {
    store().EnsureIndex(things_.collection(), {{"email"}, true});
    things_.Insert("ann", {{"email", "ann@example.org"}});
  }
  static void ExpectRefusal(const StoreOp& op) {
    ASSERT_EQ(op.status, OpStatus::kConflict);
    ASSERT_TRUE(op.detail);
    EXPECT_EQ(op.detail->index, "email");
    EXPECT_EQ(op.detail->found_version, std::nullopt);
  }
};

TEST_P(UniqueIndex, RefusesAnInsert) {
  ExpectRefusal(things_.Insert("bob", {{"email", "ann@example.org"}}));
  EXPECT_EQ(things_.Read("bob").status, OpStatus::kMissing);
}

TEST_P(UniqueIndex, RefusesAnAcquireThatWouldMakeTheDocument) {
  ExpectRefusal(things_.Acquire("bob", {.insert = MakeBody({{"email", "ann@example.org"}})}));
  EXPECT_EQ(things_.Read("bob").status, OpStatus::kMissing);
}

TEST_P(UniqueIndex, RefusesAReleaseWhichLeavesTheLockHeld) {
  const AcquireOp grant = things_.Create("bob", {{"email", "bob@example.org"}});
  ExpectRefusal(things_.Release("bob", grant, MakeBody({{"email", "ann@example.org"}})));
  const ReadOp read = things_.Read("bob");
  EXPECT_EQ(read.lock_id, grant.grant.lock_id);
  EXPECT_EQ(read.version, grant.version);
  EXPECT_EQ(read.body.json(), Json({{"email", "bob@example.org"}}));
  EXPECT_EQ(things_.Release("bob", grant, MakeBody({{"email", "rob@example.org"}})).status,
            OpStatus::kDone);
}

TEST_P(UniqueIndex, RefusesASave) {
  const SaveOp bob = things_.Insert("bob", {{"email", "bob@example.org"}});
  ExpectRefusal(things_.Replace("bob", 1, bob.born, {{"email", "ann@example.org"}}));
  EXPECT_EQ(things_.Read("bob").version, 1);
}

TEST_P(UniqueIndex, LetsADocumentKeepItsValue) {
  const AcquireOp grant = things_.Acquire("ann");
  EXPECT_EQ(
      things_.Release("ann", grant, MakeBody({{"email", "ann@example.org"}, {"n", 1}})).status,
      OpStatus::kDone);
}

TEST_P(UniqueIndex, ForgetsWhatWasGivenUpOrErased) {
  const AcquireOp grant = things_.Acquire("ann");
  things_.Release("ann", grant, MakeBody({{"email", "new@example.org"}}));
  EXPECT_EQ(things_.Insert("bob", {{"email", "ann@example.org"}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Erase("ann").status, OpStatus::kDone);
  EXPECT_EQ(things_.Insert("eve", {{"email", "new@example.org"}}).status, OpStatus::kDone);
}

TEST_P(UniqueIndex, DoesNotSpoilTheRestOfABatch) {
  const Key bob("bob"), eve("eve");
  SaveOp refused(things_.collection(), bob), fine(things_.collection(), eve);
  refused.save = fine.save = SaveKind::kInsert;
  refused.body = MakeBody({{"email", "ann@example.org"}});
  fine.body = MakeBody({{"email", "eve@example.org"}});
  const std::array<StoreOp*, 2> batch{&refused, &fine};
  store().Execute(batch, kBudget);
  ExpectRefusal(refused);
  EXPECT_EQ(fine.status, OpStatus::kDone);
}

TEST_P(UniqueIndex, IsNotMadeOverDocumentsThatRepeatAValue) {
  things_.Insert("1", {{"n", 1}});
  things_.Insert("2", {{"n", 1}});
  EXPECT_THROW(store().EnsureIndex(things_.collection(), {{"n"}, true}), Error);
}

TEST_P(UniqueIndex, OverTwoFieldsLooksAtBoth) {
  store().EnsureIndex(things_.collection(), {{"a", "b"}, true});
  EXPECT_EQ(things_.Insert("1", {{"a", 1}, {"b", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Insert("2", {{"a", 1}, {"b", 2}}).status, OpStatus::kDone);
  const SaveOp third = things_.Insert("3", {{"a", 1}, {"b", 2}});
  ASSERT_EQ(third.status, OpStatus::kConflict);
  EXPECT_EQ(third.detail->index, "a,b");
}

TEST_P(UniqueIndex, OverAFieldWithACommaIsNotTheOneOverTwoFields) {
  store().EnsureIndex(things_.collection(), {{"a,b"}, true});
  store().EnsureIndex(things_.collection(), {{"a", "b"}, true});
  EXPECT_EQ(things_.Insert("1", {{"a", 1}, {"b", 1}, {"a,b", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Insert("2", {{"a", 1}, {"b", 2}, {"a,b", 2}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Insert("3", {{"a", 1}, {"b", 2}, {"a,b", 3}}).status, OpStatus::kConflict);
  EXPECT_EQ(things_.Insert("4", {{"a", 1}, {"b", 3}, {"a,b", 2}}).status, OpStatus::kConflict);
}

INSTANTIATE_TEST_SUITE_P(Stores, UniqueIndex, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
