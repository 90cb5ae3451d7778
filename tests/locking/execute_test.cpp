#include <memory>
#include <vector>

#include "shelf.h"

// What the program does if a database notices other clients.

namespace doclock::locking {
namespace {

class Races : public ShelfTest {};

TEST_F(Races, OfOneDocumentAreRunAgain) {
  shelf_.races = 3;
  EXPECT_EQ(things_.Insert(a_, {{"n", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{1, 1, 1, 1}));
  shelf_.races = 1;
  EXPECT_EQ(things_.AcquireNext(Filter()).key, a_);
}

TEST_F(Races, ThatDoNotEndAreUnavailable) {
  shelf_.races = 1000;
  const SaveOp op = things_.Insert(a_, {{"n", 1}});
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  const Client::Next next = things_.AcquireNext(Filter());
  EXPECT_EQ(next.status, OpStatus::kMissing) << "nothing was stored";
}

TEST_F(Races, OfABatchAreRunOneByOne) {
  shelf_.races = 1;
  SaveOp first = Insert(a_), second = Insert(b_);
  things_.Execute({&first, &second});
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(second.status, OpStatus::kDone);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{2, 1, 1}));
}

TEST_F(Races, ADocumentThatOthersHoldWaitsAlone) {
  things_.Insert(b_, {});
  shelf_.units.clear();
  shelf_.held = {b_};
  SaveOp first = Insert(a_), second = Insert(b_), third = Insert(c_);
  things_.Execute({&first, &second, &third});
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(third.status, OpStatus::kDone);
  ASSERT_EQ(second.status, OpStatus::kFailed);
  EXPECT_EQ(second.detail->code, Errc::kUnavailable);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{3, 1}));
}

TEST_F(Races, DocumentsThatOthersHoldKeepTheRestForAPartOfTheTime) {
  things_.Insert(b_, {});
  things_.Insert(c_, {});
  shelf_.deadlines.clear();
  shelf_.patience.clear();
  shelf_.held = {b_, c_};
  SaveOp first = Insert(a_), second = Insert(b_), third = Insert(c_);
  StoreOp* const ops[] = {&first, &second, &third};
  store_->Execute(ops, std::chrono::seconds(80));
  const Deadline deadline = shelf_.deadlines.front();
  EXPECT_EQ(shelf_.deadlines, std::vector(3, deadline)) << "a commit has all of it";
  ASSERT_EQ(shelf_.patience.size(), 2U);
  for (const Deadline patience : shelf_.patience) {
    EXPECT_LT(patience, deadline - std::chrono::seconds(60));
  }
}

TEST_F(Races, WhoWantsALockThatOthersKeepWaitsForAMomentAndARenewalNotAtAll) {
  const Uuid held = things_.Create(c_).grant.lock_id;
  things_.Insert(a_, {});
  things_.Insert(b_, {});
  shelf_.held = {a_, b_, c_};
  AcquireOp wanted(things_.collection(), a_);
  wanted.grant.lock_id = FreshId();
  wanted.grant.queue_for = std::chrono::minutes(1);
  SaveOp write = Insert(b_);
  RenewOp renewal(things_.collection(), c_);
  renewal.lock_id = held;
  renewal.ttl = kTtl;
  shelf_.patience.clear();
  const auto begin = std::chrono::steady_clock::now();
  StoreOp* const ops[] = {&wanted, &write, &renewal};
  store_->Execute(ops, std::chrono::hours(8));
  for (const StoreOp* const op : ops) {
    ASSERT_EQ(op->status, OpStatus::kFailed);
    EXPECT_EQ(op->detail->code, Errc::kUnavailable);
  }
  ASSERT_EQ(shelf_.patience.size(), 2U);
  EXPECT_GT(shelf_.patience[0], begin + std::chrono::minutes(30)) << "the write, which comes first";
  EXPECT_LT(shelf_.patience[1], begin + std::chrono::minutes(30));
}

TEST_F(Races, AfterARaceThoseThatOthersHoldKeepTheRestForAPartOfTheTime) {
  things_.Insert(b_, {});
  shelf_.deadlines.clear();
  shelf_.units.clear();
  shelf_.patience.clear();
  shelf_.held = {b_};
  shelf_.races = 1;
  SaveOp first = Insert(a_), second = Insert(b_), third = Insert(c_);
  StoreOp* const ops[] = {&first, &second, &third};
  store_->Execute(ops, std::chrono::seconds(80));
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(third.status, OpStatus::kDone);
  EXPECT_EQ(second.status, OpStatus::kFailed);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{3, 1, 1, 1}));
  ASSERT_EQ(shelf_.patience.size(), 3U);
  EXPECT_EQ(shelf_.patience[1], Deadline::max()) << "what is free has all of it";
  EXPECT_LT(shelf_.patience[2], shelf_.deadlines[0] - std::chrono::seconds(60));
}

TEST_F(Races, ARenewalKeepsNoOtherForLongerThanAPartOfItsLease) {
  const Uuid a = things_.Create(a_).grant.lock_id, b = things_.Create(b_).grant.lock_id;
  shelf_.units.clear();
  shelf_.held = {a_};
  RenewOp held(things_.collection(), a_), free(things_.collection(), b_);
  held.lock_id = a;
  free.lock_id = b;
  held.ttl = free.ttl = std::chrono::seconds(6);
  things_.Execute({&held, &free});
  EXPECT_EQ(free.status, OpStatus::kDone);
  ASSERT_EQ(held.status, OpStatus::kFailed);
  EXPECT_EQ(held.detail->code, Errc::kUnavailable);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{2})) << "it waits for nobody in a batch";
  shelf_.deadlines.clear();
  StoreOp* const one[] = {&held};
  const auto begin = std::chrono::steady_clock::now();
  store_->Execute(one, std::chrono::minutes(10));
  ASSERT_EQ(shelf_.deadlines.size(), 1U);
  EXPECT_LT(shelf_.deadlines[0], begin + std::chrono::minutes(5));
}

TEST_F(Races, WhatWaitsAloneHasNoOutcomeOfItsBatch) {
  things_.Insert(b_, {});
  shelf_.held = {b_};
  shelf_.failure = std::make_exception_ptr(InDoubtException("the answer was lost"));
  SaveOp first = Insert(a_), second = Insert(b_);
  things_.Execute({&first, &second});
  EXPECT_EQ(first.status, OpStatus::kInDoubt);
  ASSERT_EQ(second.status, OpStatus::kFailed);
  EXPECT_EQ(second.detail->message, "it stayed held");
}

/// A caller that waits asks again, and may create it then.
TEST_F(Races, WhatFailsHasCreatedNothing) {
  const auto create = [&](const Key& key) {
    AcquireOp op(things_.collection(), key);
    op.grant.lock_id = FreshId();
    op.grant.ttl = kTtl;
    op.insert = MakeBody({{"n", 1}});
    return op;
  };
  shelf_.failure = std::make_exception_ptr(StoreException(Errc::kUnavailable, "the disk is full"));
  AcquireOp alone = create(a_), first = create(b_), second = create(c_);
  things_.Execute({&alone});
  things_.Execute({&first, &second});
  for (const AcquireOp* const op : {&alone, &first, &second}) {
    EXPECT_EQ(op->status, OpStatus::kFailed);
    EXPECT_FALSE(op->created);
  }
}

/// Leases of another run of the clock begin anew whenever they are loaded, until one is stored.
TEST_F(Races, AWriteThatIsRefusedStoresWhatIsRestated) {
  things_.Create(a_, {});
  shelf_.restated = {a_};
  SaveOp save = Insert(a_);
  save.save = SaveKind::kReplace;
  save.expected = 1;
  things_.Execute({&save});
  EXPECT_EQ(save.status, OpStatus::kBusy);
  EXPECT_TRUE(shelf_.restated.empty());
  EXPECT_FALSE(things_.Read(a_).lock_id.is_nil());
}

TEST_F(Races, APurgeStoresWhatIsRestated) {
  things_.Create(a_, {});
  shelf_.restated = {a_};
  EXPECT_EQ(things_.Purge(), 0);
  EXPECT_TRUE(shelf_.restated.empty());
  EXPECT_FALSE(things_.Read(a_).lock_id.is_nil());
}

TEST_F(Races, ASearchInVainStoresWhatIsRestated) {
  things_.Create(a_, {});
  shelf_.restated = {a_};
  shelf_.races = 2;
  Key key;
  AcquireOp op(things_.collection(), key);
  op.grant.lock_id = FreshId();
  op.grant.ttl = kTtl;
  op.asks_free_in = true;
  store_->AcquireNext(Filter(), op, key, kBudget);
  EXPECT_EQ(op.status, OpStatus::kMissing);
  EXPECT_EQ(op.free_in, kTtl);
  EXPECT_TRUE(shelf_.restated.empty());
  EXPECT_FALSE(things_.Read(a_).lock_id.is_nil());
}

TEST_F(Races, OfAPurgeAndOfABreakAreRunAgain) {
  things_.Create(a_, {}, {.ttl = std::chrono::milliseconds(0)});
  shelf_.races = 2;
  EXPECT_EQ(things_.Purge(), 1);
  things_.Acquire(a_);
  shelf_.races = 2;
  things_.Break(a_);
  EXPECT_TRUE(things_.Read(a_).lock_id.is_nil());
}

TEST_F(Races, OfAScanAreRunAgain) {
  for (const Key& key : {a_, b_}) things_.Create(key, {}, {.ttl = std::chrono::milliseconds(0)});
  shelf_.loses_after = 1;
  EXPECT_EQ(things_.Locks().size(), 2U);
  shelf_.loses_after = 1;
  EXPECT_EQ(things_.Purge(), 2);
  shelf_.loses_after = 0;
  EXPECT_EQ(things_.AcquireNext(Filter()).key, a_);
  EXPECT_FALSE(shelf_.loses_after);
}

TEST_F(Races, OfASearchAreRunAgainUntilItHasShownSomething) {
  for (const Key& key : {a_, b_}) things_.Insert(key, {});
  shelf_.loses_after = 0;
  EXPECT_EQ(things_.Query({}), (std::vector{a_, b_}));
  shelf_.loses_after = 1;
  std::vector<Key> shown;
  const auto show = [&](QueryRow&& row) {
    shown.push_back(std::move(row.key));
    return true;
  };
  EXPECT_THROW(store_->Query(things_.collection(), {}, show, kBudget), StoreException);
  EXPECT_EQ(shown, std::vector{a_});
}

}  // namespace
}  // namespace doclock::locking
