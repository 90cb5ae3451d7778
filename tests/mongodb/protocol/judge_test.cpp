/// What a write under the lock is told that matched nothing, from what a look shows afterwards.

#include <gtest/gtest.h>

#include "mongodb/protocol/statements.h"

namespace doclock::mongodb {
namespace {

class JudgeWriteTest : public ::testing::Test {
 protected:
  JudgeWriteTest() {
    seen_.lock_id = op_.lock_id;
    seen_.version = op_.expected = 7;
    seen_.lease = {kLookedAt, std::chrono::seconds(30)};
  }
  static WriteOp Op(Collection& collection, const Key& key) {
    WriteOp op(collection, key);
    op.lock_id = NewUuid();
    return op;
  }
  void ExpectLost() {
    JudgeWrite(op_, &seen_);
    EXPECT_EQ(op_.status, OpStatus::kLost);
  }
  void ExpectFailed(Errc code) {
    JudgeWrite(op_, &seen_);
    ASSERT_EQ(op_.status, OpStatus::kFailed);
    EXPECT_EQ(op_.detail->code, code);
  }

  Collection collection_{"things", {}, std::chrono::seconds(30)};
  Key key_{"a"};
  WriteOp op_ = Op(collection_, key_);
  StoredLock seen_;
};

TEST_F(JudgeWriteTest, AnotherLockOrVersionIsALostLock) {
  seen_.version = 8;
  ExpectLost();
  seen_.version = 7;
  seen_.lock_id = NewUuid();
  ExpectLost();
  seen_.lock_id = Uuid{};
  ExpectLost();
}

TEST_F(JudgeWriteTest, AMissingDocumentIsMissing) {
  JudgeWrite(op_, nullptr);
  EXPECT_EQ(op_.status, OpStatus::kMissing);
}

TEST_F(JudgeWriteTest, AMalformedLockSaysSo) {
  seen_.bad_field = "lockVersion";
  ExpectFailed(Errc::kMalformed);
}

/// As the rules say: the lock is held. (Nothing was written.)
TEST_F(JudgeWriteTest, ALockThatIsHeldAfterAllIsNotLost) {
  ExpectFailed(Errc::kUnavailable);
  op_.expected = kAnyVersion;
  ExpectFailed(Errc::kUnavailable);
}

TEST_F(JudgeWriteTest, AShareIsLostOnceItsLeaseIsOver) {
  op_.mode = LockMode::kShared;
  op_.expected = kAnyVersion;
  seen_.lock_id = kSharedLockId;
  seen_.shares.push_back({op_.lock_id, kLookedAt, seen_.lease, nullptr, "", 7});
  ExpectFailed(Errc::kUnavailable);
  seen_.shares.front().lease.since -= std::chrono::seconds(30);
  ExpectLost();
}

}  // namespace
}  // namespace doclock::mongodb
