#include <algorithm>
#include <vector>

#include "batch.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, AnEmptyBatchIsFine) { Batch(things_).Execute(); }

TEST_P(StoreConformance, ABatchMaySpanCollections) {
  Client others = Open("others");
  Batch batch(things_);
  const AcquireOp& here = batch.Acquire("42", MakeBody({{"in", "things"}}));
  AcquireOp& there = batch.Acquire("42", MakeBody({{"in", "others"}}));
  there.collection = &others.collection();
  batch.Execute();
  EXPECT_EQ(here.status, OpStatus::kDone);
  EXPECT_EQ(there.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").result.body.json(), Json({{"in", "things"}}));
  EXPECT_EQ(others.Read("42").result.body.json(), Json({{"in", "others"}}));
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
      EXPECT_TRUE(clock().IsLeft(DetailOf(op).remaining, kTtl));
    } else {
      EXPECT_EQ(op.result.body.json().at("n"), -i);
    }
  }
}

}  // namespace
}  // namespace doclock::conformance
