#include <algorithm>
#include <vector>

#include "batch.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, AnEmptyBatchIsFine) { Batch(things_).Execute(); }

TEST_P(StoreConformance, EachOperationOfABatchHasItsOwnResult) {
  const AcquireOp held = things_.Create("held");
  const AcquireOp kept = things_.Create("kept");
  things_.Insert("there", {{"a", 1}});
  Batch batch(things_);
  const AcquireOp& missing = batch.Acquire("missing");
  const AcquireOp& made = batch.Acquire("made", MakeBody({{"b", 2}}));
  const WriteOp& released = batch.Write(WriteKind::kRelease, "held", held, MakeBody({{"c", 3}}));
  WriteOp& lost = batch.Write(WriteKind::kRelease, "there", held, MakeBody({{"c", 4}}));
  lost.lock_id = FreshId();
  lost.born = {};
  const RenewOp& renewed = batch.Renew("kept", kept.grant.lock_id);
  const SaveOp& inserted = batch.Save(SaveKind::kInsert, "inserted", held, MakeBody({{"d", 5}}));
  const ReadOp& read = batch.Read("missing too");
  batch.Execute();
  EXPECT_EQ(missing.status, OpStatus::kMissing);
  EXPECT_EQ(made.status, OpStatus::kDone);
  EXPECT_EQ(released.status, OpStatus::kDone);
  EXPECT_EQ(lost.status, OpStatus::kLost);
  EXPECT_EQ(renewed.status, OpStatus::kDone);
  EXPECT_EQ(inserted.status, OpStatus::kDone);
  EXPECT_EQ(read.status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("held").body.json(), Json({{"c", 3}}));
  EXPECT_EQ(things_.Read("there").body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, ABatchTakesNoEarlierWriteForItsOwn) {
  const AcquireOp held = things_.Create("held", {{"a", 1}});
  const AcquireOp released = things_.Create("released", {{"a", 1}});
  things_.Release("released", released);
  Batch batch(things_);
  batch.Acquire("missing");
  const Body body = MakeBody({{"a", 2}});
  WriteOp& stale = batch.Write(WriteKind::kCheckpoint, "held", held, body);
  --stale.expected;
  const WriteOp& again = batch.Write(WriteKind::kRelease, "released", released, body);
  batch.Execute();
  EXPECT_EQ(stale.status, OpStatus::kLost);
  EXPECT_EQ(again.status, OpStatus::kLost);
  for (const char* key : {"held", "released"}) {
    EXPECT_EQ(things_.Read(key).body.json(), Json({{"a", 1}})) << key;
  }
}

TEST_P(StoreConformance, ABatchTakesNoEarlierGrantForItsOwn) {
  const AcquireOp held = things_.Create("held");
  Batch batch(things_);
  const AcquireOp& missing = batch.Acquire("missing");
  AcquireOp& again = batch.Acquire("held");
  again.grant.lock_id = held.grant.lock_id;
  batch.Execute();
  EXPECT_EQ(missing.status, OpStatus::kMissing);
  EXPECT_EQ(again.status, OpStatus::kBusy);
}

TEST_P(StoreConformance, ABatchMaySpanCollections) {
  Client others = Open("others");
  Batch batch(things_);
  const AcquireOp& here = batch.Acquire("42", MakeBody({{"in", "things"}}));
  AcquireOp& there = batch.Acquire("42", MakeBody({{"in", "others"}}));
  there.collection = &others.collection();
  batch.Execute();
  EXPECT_EQ(here.status, OpStatus::kDone);
  EXPECT_EQ(there.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"in", "things"}}));
  EXPECT_EQ(others.Read("42").body.json(), Json({{"in", "others"}}));
}

TEST_P(StoreConformance, AFullBatchKeepsResultsInPlace) {
  const int count = static_cast<int>(std::min<std::size_t>(store().traits().max_batch, 128));
  for (int i = 0; i < count; i += 2) things_.Create(i, {{"n", i}});
  Batch batch(things_);
  std::vector<AcquireOp*> ops;
  for (int i = 0; i < count; ++i) ops.push_back(&batch.Acquire(i, MakeBody({{"n", -i}})));
  batch.Execute();
  for (int i = 0; i < count; ++i) {
    const AcquireOp& op = *ops[static_cast<std::size_t>(i)];
    ASSERT_EQ(op.status, i % 2 == 0 ? OpStatus::kBusy : OpStatus::kDone) << i;
    if (i % 2 == 0) {
      EXPECT_TRUE(clock().IsLeft(op.detail->remaining, kTtl));
    } else {
      EXPECT_EQ(op.body.json().at("n"), -i);
    }
  }
}

}  // namespace
}  // namespace doclock::conformance
