#include "store_conformance.h"

namespace doclock::conformance {
namespace {

/// Two stores over the same data, as two processes have them.
class TwoStores : public StoreConformance {
 protected:
  void SetUp() override {
    if (!backend().open_another) GTEST_SKIP() << "this store belongs to one process";
    other_store_ = backend().open_another();
    others_ = std::make_unique<Client>(Open(*other_store_, "things"));
  }

  std::shared_ptr<Store> other_store_;
  std::unique_ptr<Client> others_;
};

TEST_P(TwoStores, ExcludeEachOther) {
  const AcquireOp grant = things_.Create("42", {}, {.owner = "alice"});
  const AcquireOp second = others_->Acquire("42");
  ASSERT_EQ(second.status, OpStatus::kBusy);
  EXPECT_EQ(second.detail->holder.name, "alice");
  EXPECT_TRUE(clock().IsLeft(second.detail->remaining, kTtl));
  things_.Release("42", grant);
  EXPECT_EQ(others_->Acquire("42").status, OpStatus::kDone);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
}

TEST_P(TwoStores, SeeEachOthersWrites) {
  const AcquireOp grant = things_.Create("42", {{"a", 1}});
  EXPECT_EQ(others_->Read("42").body.json(), Json({{"a", 1}}));
  things_.Release("42", grant, MakeBody({{"a", 2}}));
  const ReadOp read = others_->Read("42");
  EXPECT_EQ(read.body.json(), Json({{"a", 2}}));
  EXPECT_EQ(read.version, 2);
  EXPECT_EQ(others_->Replace("42", 2, read.born, {{"a", 3}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 3}}));
}

TEST_P(TwoStores, TakeOverExpiredLocksOfEachOther) {
  const AcquireOp first = things_.Create("42");
  clock().Advance(kTtl);
  EXPECT_TRUE(others_->Acquire("42").took_over);
  EXPECT_EQ(things_.Renew("42", first.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", first).status, OpStatus::kLost);
}

TEST_P(TwoStores, NeverTakeTheSameNextDocument) {
  for (int i = 0; i < 10; ++i) things_.Insert(i, {{"n", i}});
  for (int i = 0; i < 10; i += 2) {
    EXPECT_EQ(things_.AcquireNext(Filter().OrderBy("n")).key, Key(i));
    EXPECT_EQ(others_->AcquireNext(Filter().OrderBy("n")).key, Key(i + 1));
  }
}

TEST_P(TwoStores, DoNotPurgeEachOthersLiveLocks) {
  const AcquireOp grant = things_.Create("42");
  EXPECT_EQ(others_->Purge(), 0);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
}

INSTANTIATE_TEST_SUITE_P(Stores, TwoStores, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
