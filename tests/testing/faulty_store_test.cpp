#include "doclock/testing/faulty_store.h"

#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <new>

#include "doclock/memory_store.h"
#include "doclock/testing/intervene.h"
#include "doclock/testing/manual_clock.h"

namespace doclock::testing {
namespace {

using namespace std::chrono_literals;
using Kind = Fault::Kind;

class FaultyStoreTest : public ::testing::Test {
 protected:
  /// Runs one operation and returns its status.
  OpStatus Execute(StoreOp& op) {
    const std::array<StoreOp*, 1> batch{&op};
    store_.Execute(batch, 1s);
    return op.status;
  }
  AcquireOp AcquireOf(const Key& key) {
    AcquireOp op(*collection_, key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    op.insert = Body::FromJson({{"a", 1}});
    return op;
  }
  OpStatus Acquire(const Key& key) {
    AcquireOp op = AcquireOf(key);
    return Execute(op);
  }
  /// The document in the wrapped store.
  bool Exists(const Key& key) {
    ReadOp op(*collection_, key);
    const std::array<StoreOp*, 1> batch{&op};
    inner_->Execute(batch, 1s);
    return op.status == OpStatus::kDone;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Store> inner_ = OpenMemoryStore({.clock = clock_});
  FaultyStore store_{inner_};
  const Key key_{"42"};  // operations point at their key
  std::shared_ptr<Collection> collection_ = store_.Open("things", {}, 30s);
};

TEST_F(FaultyStoreTest, WithoutFaultsItIsTheInnerStore) {
  EXPECT_EQ(Acquire("42"), OpStatus::kDone);
  EXPECT_EQ(Acquire("42"), OpStatus::kBusy);
  EXPECT_EQ(store_.traits().immediate, inner_->traits().immediate);
  EXPECT_EQ(store_.Find("things"), collection_);
  StealLock(store_, "things", "42");
  ExpireLock(store_, "things", "42");
  EXPECT_EQ(store_.Purge(*collection_, 10, 1s), 1);
  int rows = 0;
  store_.Query(
      *collection_, Filter(), [&](QueryRow&&) { return ++rows > 0; }, 1s);
  EXPECT_EQ(rows, 1);
  store_.EnsureIndex(*collection_, {{"a"}, false});
}

TEST_F(FaultyStoreTest, AnErrorBeforeHasNoEffect) {
  store_.Inject({.kind = Kind::kErrorBefore});
  AcquireOp op = AcquireOf(key_);
  ASSERT_EQ(Execute(op), OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  EXPECT_FALSE(Exists("42"));
  EXPECT_EQ(Acquire("42"), OpStatus::kDone);
}

TEST_F(FaultyStoreTest, ARefusalHasNoEffect) {
  store_.Inject({.kind = Kind::kRefused});
  AcquireOp op = AcquireOf(key_);
  ASSERT_EQ(Execute(op), OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kRefused);
  EXPECT_FALSE(Exists("42"));
}

TEST_F(FaultyStoreTest, ALostRequestIsInDoubtWithoutEffect) {
  store_.Inject({.kind = Kind::kLostBefore});
  EXPECT_EQ(Acquire("42"), OpStatus::kInDoubt);
  EXPECT_FALSE(Exists("42"));
}

TEST_F(FaultyStoreTest, ALostReplyIsInDoubtWithEffect) {
  store_.Inject({.kind = Kind::kLostAfter});
  AcquireOp op = AcquireOf(key_);
  ASSERT_EQ(Execute(op), OpStatus::kInDoubt);
  EXPECT_EQ(op.version, 0) << "the caller must not see what it was not told";
  EXPECT_FALSE(op.body);
  EXPECT_TRUE(Exists("42"));
}

TEST_F(FaultyStoreTest, ALateEffectComesWhenItIsReleased) {
  store_.Inject({.kind = Kind::kLate, .times = 2});
  {
    const Key key("42");
    EXPECT_EQ(Acquire(key), OpStatus::kInDoubt);
    EXPECT_EQ(Acquire(key), OpStatus::kInDoubt);
  }
  EXPECT_FALSE(Exists("42"));
  EXPECT_EQ(store_.ReleaseLate(), 2);
  EXPECT_TRUE(Exists("42"));
  EXPECT_EQ(store_.ReleaseLate(), 0);
}

TEST_F(FaultyStoreTest, ALateHandOverKeepsItsGrant) {
  const Key& key = key_;
  AcquireOp grant = AcquireOf(key);
  Execute(grant);
  store_.Inject({.kind = Kind::kLate, .op = OpKind::kWrite});
  const Uuid next_id = NewUuid();
  {
    GrantRequest next;
    next.lock_id = next_id;
    next.ttl = 30s;
    WriteOp release(*collection_, key);
    release.lock_id = grant.grant.lock_id;
    release.expected = 1;
    release.next = &next;
    EXPECT_EQ(Execute(release), OpStatus::kInDoubt);
  }
  store_.ReleaseLate();
  ReadOp read(*collection_, key);
  Execute(read);
  EXPECT_EQ(read.lock_id, next_id);
}

TEST_F(FaultyStoreTest, EveryKindOfOperationCanComeLate) {
  const Key key("42");
  store_.Inject({.kind = Kind::kLate, .times = INT_MAX});
  AcquireOp acquire = AcquireOf(key);
  Execute(acquire);
  RenewOp renew(*collection_, key);
  renew.lock_id = acquire.grant.lock_id;
  renew.ttl = 60s;
  Execute(renew);
  ReadOp unread(*collection_, key);
  Execute(unread);
  SaveOp save(*collection_, key);
  save.save = SaveKind::kErase;
  Execute(save);
  store_.Heal();
  EXPECT_EQ(store_.ReleaseLate(), 4);
  ReadOp read(*collection_, key);
  ASSERT_EQ(Execute(read), OpStatus::kDone) << "an erase does not take a live lock's document";
  EXPECT_EQ(read.remaining, 60s);
}

TEST_F(FaultyStoreTest, AThrowHasNoEffectOnTheWholeBatch) {
  store_.Inject({.kind = Kind::kThrow, .key = Key("2")});
  const Key one("1"), two("2");
  AcquireOp first = AcquireOf(one), second = AcquireOf(two);
  const std::array<StoreOp*, 2> batch{&first, &second};
  EXPECT_THROW(store_.Execute(batch, 1s), std::bad_alloc);
  EXPECT_FALSE(Exists("1"));
  EXPECT_FALSE(Exists("2"));
}

TEST_F(FaultyStoreTest, AFaultStrikesOnlyWhatItNames) {
  store_.Inject({.kind = Kind::kErrorBefore, .op = OpKind::kAcquire, .key = Key("2")});
  EXPECT_EQ(Acquire("1"), OpStatus::kDone);
  const Key two("2");
  ReadOp read(*collection_, two);
  EXPECT_EQ(Execute(read), OpStatus::kMissing);
  EXPECT_EQ(Acquire("2"), OpStatus::kFailed);
  EXPECT_EQ(Acquire("2"), OpStatus::kDone);
}

TEST_F(FaultyStoreTest, AFaultSpoilsNoNeighbourInTheBatch) {
  store_.Inject({.kind = Kind::kLostBefore, .key = Key("2")});
  const Key one("1"), two("2"), three("3");
  AcquireOp first = AcquireOf(one), second = AcquireOf(two), third = AcquireOf(three);
  const std::array<StoreOp*, 3> batch{&first, &second, &third};
  store_.Execute(batch, 1s);
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(second.status, OpStatus::kInDoubt);
  EXPECT_EQ(third.status, OpStatus::kDone);
}

TEST_F(FaultyStoreTest, AFaultMaySkipSomeAndStrikeSome) {
  store_.Inject({.kind = Kind::kErrorBefore, .skip = 1, .times = 2});
  EXPECT_EQ(Acquire("1"), OpStatus::kDone);
  EXPECT_EQ(Acquire("2"), OpStatus::kFailed);
  EXPECT_EQ(Acquire("3"), OpStatus::kFailed);
  EXPECT_EQ(Acquire("4"), OpStatus::kDone);
}

TEST_F(FaultyStoreTest, HealingForgetsFaults) {
  store_.Inject({.kind = Kind::kErrorBefore, .times = INT_MAX});
  EXPECT_EQ(Acquire("1"), OpStatus::kFailed);
  EXPECT_EQ(Acquire("1"), OpStatus::kFailed);
  store_.Heal();
  EXPECT_EQ(Acquire("1"), OpStatus::kDone);
}

TEST_F(FaultyStoreTest, ItCountsWhatItSees) {
  store_.Inject({.kind = Kind::kErrorBefore});
  Acquire("1");
  Acquire("1");
  const Key key("1");
  ReadOp read(*collection_, key);
  Execute(read);
  EXPECT_EQ(store_.Count(OpKind::kAcquire), 2);
  EXPECT_EQ(store_.Count(OpKind::kRead), 1);
  EXPECT_EQ(store_.Count(OpKind::kSave), 0);
  EXPECT_EQ(store_.Calls(), 3);
  store_.Reset();
  EXPECT_EQ(store_.Count(OpKind::kAcquire), 0);
  EXPECT_EQ(store_.Calls(), 0);
}

TEST_F(FaultyStoreTest, AHookSeesEachCallBeforeItIsExecuted) {
  std::size_t seen = 0;
  store_.OnExecute([&](std::span<StoreOp* const> ops) {
    seen += ops.size();
    EXPECT_EQ(ops.front()->status, OpStatus::kPending);
  });
  Acquire("1");
  store_.OnExecute({});
  Acquire("2");
  EXPECT_EQ(seen, 1U);
}

TEST_F(FaultyStoreTest, HintsCanBeDropped) {
  int hints = 0;
  const auto subscription = store_.Watch(*collection_, [&](const LockHint&) { ++hints; });
  Acquire("42");
  store_.DropHints(true);
  BreakLock(store_, "things", "42");
  EXPECT_EQ(hints, 0);
  store_.DropHints(false);
  Acquire("42");
  BreakLock(store_, "things", "42");
  EXPECT_EQ(hints, 1);
}

TEST_F(FaultyStoreTest, FaultsStrikeTheNextDocumentToo) {
  Acquire("42");
  ExpireLock(store_, "things", "42");
  const auto next = [&] {
    Key key;
    AcquireOp op(*collection_, key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    store_.AcquireNext(Filter(), op, key, 1s);
    return op.status;
  };
  for (const Kind kind : {Kind::kErrorBefore, Kind::kLostBefore, Kind::kLate}) {
    store_.Inject({.kind = kind});
    EXPECT_NE(next(), OpStatus::kDone);
  }
  EXPECT_EQ(store_.ReleaseLate(), 1);
  EXPECT_EQ(next(), OpStatus::kMissing) << "the late one took it";
  ExpireLock(store_, "things", "42");
  store_.Inject({.kind = Kind::kLostAfter});
  EXPECT_EQ(next(), OpStatus::kInDoubt);
  EXPECT_EQ(next(), OpStatus::kMissing);
}

TEST_F(FaultyStoreTest, OfTheNextDocumentOnlyALostReplyTellsTheKey) {
  Acquire("42");
  ExpireLock(store_, "things", "42");
  for (const Kind kind : {Kind::kLostBefore, Kind::kLate, Kind::kLostAfter}) {
    store_.Inject({.kind = kind});
    const Key unknown;
    Key key;
    AcquireOp op(*collection_, unknown);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    store_.AcquireNext(Filter(), op, key, 1s);
    EXPECT_EQ(op.status, OpStatus::kInDoubt);
    EXPECT_EQ(op.key == &key, kind == Kind::kLostAfter);
    EXPECT_EQ(key, kind == Kind::kLostAfter ? Key("42") : Key());
  }
}

TEST_F(FaultyStoreTest, AReadWhoseReplyIsLostLeavesNoDoubt) {
  Acquire("42");
  const Key key("42");
  for (const Kind kind : {Kind::kLostBefore, Kind::kLate, Kind::kLostAfter}) {
    store_.Inject({.kind = kind});
    ReadOp read(*collection_, key);
    Execute(read);
    EXPECT_EQ(read.status, OpStatus::kFailed);
    EXPECT_EQ(read.detail->code, Errc::kUnavailable);
  }
}

}  // namespace
}  // namespace doclock::testing
