#include "store_conformance.h"

// Rules of store.h that stores tend to read differently, and that no script can tell.

namespace doclock::conformance {
namespace {

const std::string kBadText = "\xC3(";

void ExpectRefused(const StoreOp& op) {
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(DetailOf(op).code, Errc::kDocument) << DetailOf(op).message;
}

TEST_P(StoreConformance, TextThatIsNotUtf8IsRefused) {
  for (const Json& tree : {Json{{"a", kBadText}}, Json{{"a", {{"b", {1, kBadText}}}}},
                           Json{{"a", {{kBadText, 1}}}}, Json{{kBadText, 1}}}) {
    ExpectRefused(things_.Insert("new", tree));
    ExpectRefused(things_.Acquire("new", {.insert = MakeBody(tree)}));
    ExpectRefused(things_.Acquire("new", {.insert = MakeBody(tree), .mode = LockMode::kShared}));
  }
  EXPECT_EQ(things_.Read("new").status, OpStatus::kMissing);
  const Body bad = MakeBody({{"a", kBadText}});
  const SaveOp insert = things_.Insert("42", {{"a", 1}});
  ExpectRefused(things_.Replace("42", 1, insert.result.born, {{"a", kBadText}}));
  const AcquireOp grant = things_.Acquire("42");
  ExpectRefused(things_.Release("42", grant, bad));
  ExpectRefused(things_.Release("42", grant.request.grant.lock_id, {.body = bad, .merge = true}));
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.result.lock_id, grant.request.grant.lock_id);
  EXPECT_EQ(read.result.body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, TextThatIsNotUtf8SpoilsNoBatch) {
  const Key keys[] = {"bad", "good"};
  SaveOp bad = things_.InsertOf(keys[0], {{"a", kBadText}});
  SaveOp good = things_.InsertOf(keys[1], {{"a", "good"}});
  things_.Execute({&good, &bad});
  ExpectRefused(bad);
  EXPECT_EQ(good.status, OpStatus::kDone);
}

TEST_P(StoreConformance, WhatIsNotHeldIsAsOldAsTheEndOfItsLease) {
  const AcquireOp purged = things_.Create("purged");
  const AcquireOp saved = things_.Create("saved");
  const AcquireOp shared = things_.Create("shared", {}, {.mode = LockMode::kShared});
  things_.Insert("never held", {});
  clock().Advance(kTtl + 60s);
  EXPECT_EQ(things_.Replace("saved", 1, saved.result.born, {}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Purge(), 2);
  clock().Advance(60s);
  for (const LockRow& row : things_.Locks({.unheld = true})) {
    EXPECT_TRUE(row.lock_id.is_nil());
    const auto age = row.key == Key("never held") ? 0s : 120s;
    EXPECT_GE(row.age, age) << row.key.ToString();
    EXPECT_LE(row.age, age + backend().slack) << row.key.ToString();
  }
}

}  // namespace
}  // namespace doclock::conformance
