#include <stdexcept>

#include "shelf.h"

// Writes that are stored together: what the program makes of what a database says.

namespace doclock::locking {
namespace {

class CommitAllTest : public ShelfTest {
 protected:
  void Commit() { store_->Commit(commit_, kBudget); }
  void ExpectAll(OpStatus status) {
    for (const StoreOp* const op : ops_) EXPECT_EQ(op->status, status);
  }

  SaveOp c_first_ = Insert(c_), a_second_ = Insert(a_), b_third_ = Insert(b_);
  std::vector<StoreOp*> ops_{&c_first_, &a_second_, &b_third_};
  CommitOp commit_{.ops = ops_};
};

TEST_F(CommitAllTest, LoadsAllAtOnceInTheOrderOfAllClients) {
  Commit();
  ExpectAll(OpStatus::kDone);
  EXPECT_EQ(shelf_.units, std::vector<std::size_t>{3});
  EXPECT_EQ(shelf_.loaded, (std::vector<Key>{a_, b_, c_}));
  EXPECT_EQ(shelf_.entries.size(), 3U);
}

TEST_F(CommitAllTest, IsRunAgainAsAWholeIfItIsRaced) {
  shelf_.races = 2;
  int joined = 0;
  commit_.join = [&](void* native) {
    EXPECT_EQ(native, &shelf_);
    ++joined;
  };
  Commit();
  ExpectAll(OpStatus::kDone);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{3, 3, 3}));
  EXPECT_EQ(joined, 3);
}

TEST_F(CommitAllTest, ThatIsAlwaysRacedIsUnavailable) {
  shelf_.races = 1000;
  store_->Commit(commit_, kShortBudget);
  ExpectAll(OpStatus::kFailed);
  EXPECT_EQ(a_second_.detail->code, Errc::kUnavailable);
  EXPECT_TRUE(shelf_.entries.empty());
}

TEST_F(CommitAllTest, ThatFailsFailsEachOperation) {
  shelf_.failure = std::make_exception_ptr(StoreException(Errc::kRefused, "the disk is full"));
  Commit();
  ExpectAll(OpStatus::kFailed);
  EXPECT_EQ(b_third_.detail->code, Errc::kRefused);
}

TEST_F(CommitAllTest, ThatIsInDoubtLeavesEachOperationInDoubt) {
  shelf_.failure = std::make_exception_ptr(InDoubtException("no answer"));
  Commit();
  ExpectAll(OpStatus::kInDoubt);
}

TEST_F(CommitAllTest, ForWhichThereIsNoMemoryLeavesAllPending) {
  shelf_.failure = std::make_exception_ptr(std::bad_alloc());
  EXPECT_THROW(Commit(), std::bad_alloc);
  ExpectAll(OpStatus::kPending);
}

TEST_F(CommitAllTest, IsNotStoredIfItsJoinedWorkThrows) {
  commit_.join = [](void*) { throw std::runtime_error("no"); };
  Commit();
  ExpectAll(OpStatus::kPending);
  ASSERT_TRUE(commit_.thrown);
  EXPECT_THROW(std::rethrow_exception(commit_.thrown), std::runtime_error);
  EXPECT_TRUE(shelf_.entries.empty());
}

TEST_F(CommitAllTest, DoesNotCallJoinedWorkIfADocumentIsRefused) {
  things_.Insert(b_, {});
  commit_.join = [](void*) { FAIL() << "it was called"; };
  Commit();
  EXPECT_EQ(b_third_.status, OpStatus::kConflict);
  EXPECT_EQ(c_first_.status, OpStatus::kPending);
}

}  // namespace
}  // namespace doclock::locking
