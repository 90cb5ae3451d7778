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

TEST_F(Races, AreRunAgainForAsLongAsTheCallHas) {
  shelf_.races = 15;
  EXPECT_EQ(things_.Insert(a_, {{"n", 1}}).status, OpStatus::kDone);
}

TEST_F(Races, ThatDoNotEndAreUnavailable) {
  shelf_.races = 1000;
  SaveOp op = Insert(a_);
  StoreOp* const batch[] = {&op};
  store_->Execute(batch, kShortBudget);
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  EXPECT_EQ(op.detail->message, Raced().what());
  shelf_.races = 0;
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

TEST_F(Races, ADocumentThatOthersKeepIsLeftByABatch) {
  things_.Insert(b_, {});
  shelf_.units.clear();
  shelf_.held = {b_};
  SaveOp first = Insert(a_), second = Insert(b_), third = Insert(c_);
  second.if_kept = IfKept::kLeave;
  things_.Execute({&first, &second, &third});
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(second.status, OpStatus::kKept);
  EXPECT_EQ(third.status, OpStatus::kDone);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{3}));
}

TEST_F(Races, OrWaitsAloneIfItIsNotToBeLeft) {
  things_.Insert(b_, {});
  shelf_.units.clear();
  shelf_.held = {b_};
  SaveOp first = Insert(a_), second = Insert(b_);
  things_.Execute({&first, &second});
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(first.status, OpStatus::kDone);
  ASSERT_EQ(second.status, OpStatus::kFailed);
  EXPECT_EQ(second.detail->code, Errc::kUnavailable);
}

TEST_F(Races, AfterARaceWhatOthersKeepIsLeftToo) {
  things_.Insert(b_, {});
  shelf_.units.clear();
  shelf_.held = {b_};
  shelf_.races = 1;
  SaveOp first = Insert(a_), second = Insert(b_), third = Insert(c_);
  second.if_kept = IfKept::kLeave;
  things_.Execute({&first, &second, &third});
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(second.status, OpStatus::kKept);
  EXPECT_EQ(third.status, OpStatus::kDone);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{3, 1, 1}));
}

TEST_F(Races, AloneItWaitsAsLongAsItIsTo) {
  AcquireOp op = things_.AcquireOf(a_);
  things_.Insert(a_, {});
  shelf_.held = {a_};
  const auto begin = std::chrono::steady_clock::now();
  const auto execute = [&](IfKept if_kept) {
    shelf_.patience.clear();
    shelf_.access.clear();
    op.if_kept = if_kept;
    things_.Execute({&op}, std::chrono::hours(8));
  };
  execute(IfKept::kLeave);
  EXPECT_EQ(op.status, OpStatus::kKept);
  EXPECT_EQ(shelf_.access, std::vector{Access::kBriefly});
  execute(IfKept::kWaitShortly);
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  EXPECT_EQ(shelf_.access, std::vector{Access::kWrite});
  EXPECT_LT(shelf_.patience.at(0), begin + std::chrono::hours(1));
  execute(IfKept::kWait);
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(shelf_.access, std::vector{Access::kWrite});
  EXPECT_EQ(shelf_.patience.at(0), Deadline::max());
}

/// Which of several collections others keep, their operations show apart.
TEST_F(Races, ACollectionThatOthersKeepStopsNoOther) {
  Client more(store_, "more");
  SaveOp first = Insert(a_), second = Insert(b_);
  SaveOp third = more.InsertOf(c_, {{"n", 1}});
  for (SaveOp* const op : {&first, &second, &third}) op->if_kept = IfKept::kLeave;
  shelf_.held_collection = &things_.collection();
  things_.Execute({&first, &third, &second});
  EXPECT_EQ(first.status, OpStatus::kKept);
  EXPECT_EQ(second.status, OpStatus::kKept);
  EXPECT_EQ(third.status, OpStatus::kDone);
}

TEST_F(Races, ARenewalKeepsNoOtherForLongerThanAPartOfItsLease) {
  const Uuid a = things_.Create(a_).request.grant.lock_id,
             b = things_.Create(b_).request.grant.lock_id;
  shelf_.units.clear();
  shelf_.held = {a_};
  RenewOp held = things_.RenewOf(a_, a, std::chrono::seconds(6));
  RenewOp free = things_.RenewOf(b_, b, std::chrono::seconds(6));
  things_.Execute({&held, &free});
  EXPECT_EQ(free.status, OpStatus::kDone);
  ASSERT_EQ(held.status, OpStatus::kFailed);
  EXPECT_EQ(held.detail->code, Errc::kUnavailable);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{2})) << "it waits for nobody in a batch";
  shelf_.deadlines.clear();
  const auto begin = std::chrono::steady_clock::now();
  things_.Execute({&held}, std::chrono::minutes(10));
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
  EXPECT_EQ(second.detail->code, Errc::kUnavailable);
}

/// A caller that waits asks again, and may create it then.
TEST_F(Races, WhatFailsHasCreatedNothing) {
  const auto create = [&](const Key& key) {
    return things_.AcquireOf(key, {.insert = MakeBody({{"n", 1}})});
  };
  shelf_.failure = std::make_exception_ptr(StoreException(Errc::kUnavailable, "the disk is full"));
  AcquireOp alone = create(a_), first = create(b_), second = create(c_);
  things_.Execute({&alone});
  things_.Execute({&first, &second});
  for (const AcquireOp* const op : {&alone, &first, &second}) {
    EXPECT_EQ(op->status, OpStatus::kFailed);
    EXPECT_FALSE(op->result.created);
  }
}

/// A waiter that is told of no entry leaves none when it goes; one in doubt does.
TEST_F(Races, AnEntryThatMayBeStoredIsInDoubt) {
  things_.Create(a_);
  things_.Create(b_);
  const auto wait = [&](const Key& key) { return things_.AcquireOf(key, {.queue_for = kTtl}); };
  const std::pair<std::exception_ptr, OpStatus> failures[] = {
      {std::make_exception_ptr(InDoubtException("the answer was lost")), OpStatus::kInDoubt},
      {std::make_exception_ptr(StoreException(Errc::kUnavailable, "the disk is full")),
       OpStatus::kBusy}};
  for (const auto& [failure, expected] : failures) {
    shelf_.failure = failure;
    AcquireOp alone = wait(a_), first = wait(a_), second = wait(b_);
    things_.Execute({&alone});
    things_.Execute({&first, &second});
    for (const AcquireOp* const op : {&alone, &first, &second}) {
      EXPECT_EQ(op->status, expected);
      EXPECT_FALSE(op->result.queued);
    }
  }
}

TEST_F(Races, OfAPurgeAndOfABreakAreRunAgain) {
  things_.Create(a_, {}, {.ttl = std::chrono::milliseconds(0)});
  shelf_.races = 2;
  EXPECT_EQ(things_.Purge(), 1);
  things_.Acquire(a_);
  shelf_.races = 2;
  things_.Break(a_);
  EXPECT_TRUE(things_.Read(a_).result.lock_id.is_nil());
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
