#include "doclock/testing/faulty_store.h"

#include <gtest/gtest.h>

#include <climits>
#include <new>

#include "conformance/suite/client.h"
#include "doclock/open_store.h"
#include "doclock/testing/manual_clock.h"

namespace doclock::testing {
namespace {

using namespace std::chrono_literals;
using Kind = Fault::Kind;

class FaultyStoreTest : public ::testing::Test {
 protected:
  AcquireOp AcquireOf(const Key& key) {
    return things_.AcquireOf(key, {.insert = Body::FromJson({{"a", 1}})});
  }
  OpStatus Acquire(const Key& key) {
    AcquireOp op = AcquireOf(key);
    things_.Execute(op);
    return op.status;
  }
  /// The document in the wrapped store.
  bool Exists(const Key& key) {
    return conformance::Client(inner_).Read(key).status == OpStatus::kDone;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Store> inner_ = OpenMemoryStore({.clock = clock_});
  std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(inner_);
  FaultyStore& store_ = *faulty_;
  conformance::Client things_{faulty_};
  const Key key_{"42"};  // operations point at their key
};

TEST_F(FaultyStoreTest, ALateHandOverKeepsItsGrant) {
  AcquireOp grant = AcquireOf(key_);
  things_.Execute(grant);
  store_.Inject({.kind = Kind::kLate, .op = OpKind::kWrite});
  const Uuid next_id = NewUuid();
  {
    GrantRequest next;
    next.lock_id = next_id;
    next.ttl = 30s;
    EXPECT_EQ(
        things_.Release(key_, grant.request.grant.lock_id, {.expected = 1, .next = &next}).status,
        OpStatus::kInDoubt);
  }
  store_.ReleaseLate();
  EXPECT_EQ(things_.Read(key_).result.lock_id, next_id);
}

TEST_F(FaultyStoreTest, EveryKindOfOperationCanComeLate) {
  store_.Inject({.kind = Kind::kLate, .times = INT_MAX});
  AcquireOp acquire = AcquireOf(key_);
  things_.Execute(acquire);
  things_.Renew("42", acquire.request.grant.lock_id, 60s);
  things_.Read("42");
  things_.Erase("42");
  store_.Heal();
  EXPECT_EQ(store_.ReleaseLate(), 4);
  const ReadOp read = things_.Read("42");
  ASSERT_EQ(read.status, OpStatus::kDone) << "an erase does not take a live lock's document";
  EXPECT_EQ(read.result.remaining, 60s);
}

TEST_F(FaultyStoreTest, AThrowHasNoEffectOnTheWholeBatch) {
  store_.Inject({.kind = Kind::kThrow, .key = Key("2")});
  const Key one("1"), two("2");
  AcquireOp first = AcquireOf(one), second = AcquireOf(two);
  EXPECT_THROW(things_.Execute({&first, &second}), std::bad_alloc);
  EXPECT_FALSE(Exists("1"));
  EXPECT_FALSE(Exists("2"));
}

TEST_F(FaultyStoreTest, AFaultSpoilsNoNeighbourInTheBatch) {
  store_.Inject({.kind = Kind::kLostBefore, .key = Key("2")});
  const Key one("1"), two("2"), three("3");
  AcquireOp first = AcquireOf(one), second = AcquireOf(two), third = AcquireOf(three);
  things_.Execute({&first, &second, &third});
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
  const auto subscription = store_.Watch(things_.collection(), [&](const LockHint&) { ++hints; });
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
  const auto next = [&] { return things_.AcquireNext(Filter()).status; };
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
    AcquireOp op = things_.AcquireOf(unknown);
    store_.AcquireNext(Filter(), op, key, 1s);
    EXPECT_EQ(op.status, OpStatus::kInDoubt);
    EXPECT_EQ(op.key == &key, kind == Kind::kLostAfter);
    EXPECT_EQ(key, kind == Kind::kLostAfter ? Key("42") : Key());
  }
}

TEST_F(FaultyStoreTest, AReadWhoseReplyIsLostLeavesNoDoubt) {
  Acquire("42");
  for (const Kind kind : {Kind::kLostBefore, Kind::kLate, Kind::kLostAfter}) {
    store_.Inject({.kind = kind});
    const ReadOp read = things_.Read("42");
    EXPECT_EQ(read.status, OpStatus::kFailed);
    EXPECT_EQ(read.detail->code, Errc::kUnavailable);
  }
}

}  // namespace
}  // namespace doclock::testing
