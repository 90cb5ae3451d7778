#include "engine/support/mock_store.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doclock/lock_manager.h"
#include "doclock/testing/manual_clock.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

using namespace std::chrono_literals;
using ::testing::_;
using ::testing::InSequence;
using ::testing::Return;
using ::testing::StrictMock;

/// The arguments of a call of Execute with one operation.
template <class Op, class Act>
auto Alone(Act act) {
  return [act](std::span<StoreOp* const> ops, std::chrono::milliseconds) {
    ASSERT_EQ(ops.size(), 1U);
    act(static_cast<Op&>(*ops.front()));
  };
}

MATCHER_P(OneOf, kind, "") { return arg.size() == 1 && arg.front()->kind == kind; }

/// Subscriptions that are counted.
class Counted : public Subscription {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() override { --count_; }

 private:
  int& count_;
};

/// The engine over a store that expects every call it gets.
class MockedStoreTest : public ::testing::Test {
 protected:
  MockedStoreTest() {
    EXPECT_CALL(*store_, traits()).WillRepeatedly(Return(StoreTraits{.others_may_wait = false}));
    manager_.emplace(store_, ManagerOptions{.runtime = clock_->runtime()});
  }

  EnginePtr engine() { return manager_->engine(); }
  AcquireSpec Spec(LockOptions options = {}) {
    AcquireSpec spec = MakeSpec(engine(), collection_, options, 30s);
    spec.key = "a";
    spec.insert = Body::FromJson({{"n", 0}});
    return spec;
  }
  static void Granted(AcquireOp& op) {
    op.status = OpStatus::kDone;
    op.version = 7;
    op.born = NewUuid();
    op.body = op.insert;
    op.created = true;
  }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  std::shared_ptr<StrictMock<MockStore>> store_ = std::make_shared<StrictMock<MockStore>>();
  Collection collection_{"orders", {}, 30s};
  std::optional<LockManager> manager_;
};

TEST_F(MockedStoreTest, ALockAndItsReleaseAreOneCallEach) {
  const InSequence sequence;
  Uuid lock_id{};
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), 10'000ms))
      .WillOnce(Alone<AcquireOp>([&](AcquireOp& op) {
        EXPECT_EQ(op.key->ToString(), "a");
        EXPECT_EQ(op.grant.ttl, 5s);
        EXPECT_FALSE(op.grant.lock_id.is_nil());
        EXPECT_FALSE(op.grant.detached);
        lock_id = op.grant.lock_id;
        Granted(op);
      }));
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kWrite), _)).WillOnce(Alone<WriteOp>([&](WriteOp& op) {
    EXPECT_EQ(op.write, WriteKind::kRelease);
    EXPECT_EQ(op.lock_id, lock_id);
    EXPECT_EQ(op.expected, 7);
    EXPECT_EQ(op.body.json(), (nlohmann::json{{"n", 1}}));
    EXPECT_EQ(op.next, nullptr);
    EXPECT_FALSE(op.renewed);
    op.version = 8;
    op.status = OpStatus::kDone;
  }));
  AcquireResult held = Acquire(engine(), Spec({.ttl = 5s}), {});
  ASSERT_FALSE(held.failure);
  EXPECT_FALSE(Write(held.grant.lease, WriteKind::kRelease, Body::FromJson({{"n", 1}})));
}

TEST_F(MockedStoreTest, AStoreThatAnswersNothingIsAskedByARenewalWhetherTheLockIsThere) {
  const InSequence sequence;
  Uuid lock_id{};
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), _))
      .WillOnce(Alone<AcquireOp>([&](AcquireOp& op) { lock_id = op.grant.lock_id; }));
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kRenew), _)).WillOnce(Alone<RenewOp>([&](RenewOp& op) {
    EXPECT_EQ(op.lock_id, lock_id);
    op.status = OpStatus::kDone;
  }));
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kRead), _)).WillOnce(Alone<ReadOp>([&](ReadOp& op) {
    op.body = Body::FromJson({{"n", 3}});
    op.version = 4;
    op.born = NewUuid();
    op.lock_id = lock_id;
    op.locked = true;
    op.remaining = 30s;
    op.status = OpStatus::kDone;
  }));
  AcquireResult held = Acquire(engine(), Spec(), {});
  ASSERT_FALSE(held.failure) << held.failure->message;
  EXPECT_EQ(held.grant.body.json().at("n"), 3);
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kWrite), _)).WillOnce(Alone<WriteOp>([](WriteOp& op) {
    EXPECT_EQ(op.expected, 4);
    op.version = 5;
    op.status = OpStatus::kDone;
  }));
  EXPECT_FALSE(Write(held.grant.lease, WriteKind::kRelease, Body()));
}

TEST_F(MockedStoreTest, AReadAnsweredWithDoubtIsNoDoubtOfAWrite) {
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kRead), _)).WillOnce(Alone<ReadOp>([](ReadOp& op) {
    op.Doubt("the line went dead");
  }));
  const ReadResult read = Read(engine(), collection_, "a");
  ASSERT_TRUE(read.failure);
  EXPECT_EQ(read.failure->code, Errc::kUnavailable);
  EXPECT_NE(read.failure->message.find("went dead"), std::string::npos) << read.failure->message;
}

TEST_F(MockedStoreTest, ARefusalIsToldAsItCameAndNotAskedAgain) {
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), _))
      .WillOnce(Alone<AcquireOp>([](AcquireOp& op) { op.Fail(Errc::kMalformed, "strange"); }));
  const AcquireResult result = Acquire(engine(), Spec({.wait = kForever}), {});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code, Errc::kMalformed);
  EXPECT_NE(result.failure->message.find("strange"), std::string::npos) << result.failure->message;
}

TEST_F(MockedStoreTest, AWaiterSubscribesOnceAndAHintMakesItAskAtOnce) {
  int subscriptions = 0;
  HintListener listener;
  bool free = false;
  int asked = 0;
  EXPECT_CALL(*store_, Watch(_, _)).WillOnce([&](Collection&, HintListener given) {
    listener = std::move(given);
    return std::make_unique<Counted>(subscriptions);
  });
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), _))
      .WillRepeatedly(Alone<AcquireOp>([&](AcquireOp& op) {
        ++asked;
        if (free) return Granted(op);
        op.status = OpStatus::kBusy;
        op.detail = std::make_unique<OpDetail>();
        op.detail->remaining = 1h;
      }));
  std::optional<AcquireResult> result;
  const AcquireHandle handle = AcquireAsync(engine(), Spec({.wait = kForever}),
                                            [&](AcquireResult r) { result = std::move(r); });
  clock_->RunPending();
  EXPECT_EQ(subscriptions, 1);
  EXPECT_FALSE(result);
  ASSERT_TRUE(listener);
  const int before = asked;
  const TimePoint start = clock_->Now();
  free = true;
  listener({Key("a").Hash()});
  clock_->RunPending();
  EXPECT_EQ(clock_->Now(), start);
  EXPECT_EQ(asked, before + 1);
  ASSERT_TRUE(result);
  ASSERT_FALSE(result->failure);
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kWrite), _)).WillOnce(Alone<WriteOp>([](WriteOp& op) {
    op.status = OpStatus::kDone;
  }));
  EXPECT_FALSE(Write(result->grant.lease, WriteKind::kRelease, Body()));
  manager_.reset();
  EXPECT_EQ(subscriptions, 0);
}

TEST_F(MockedStoreTest, AStoreWhoseWatchThrowsIsPolled) {
  EXPECT_CALL(*store_, Watch(_, _)).WillRepeatedly([](auto&&...) -> std::unique_ptr<Subscription> {
    throw StoreException(Errc::kUnavailable, "no hints today");
  });
  int asked = 0;
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), _))
      .WillRepeatedly(Alone<AcquireOp>([&](AcquireOp& op) {
        if (++asked == 3) return Granted(op);
        op.status = OpStatus::kBusy;
        op.detail = std::make_unique<OpDetail>();
      }));
  const AcquireResult result = Acquire(engine(), Spec({.wait = 1min}), {});
  EXPECT_FALSE(result.failure);
  EXPECT_EQ(asked, 3);
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kWrite), _)).WillOnce(Alone<WriteOp>([](WriteOp& op) {
    op.status = OpStatus::kDone;
  }));
  EXPECT_FALSE(Write(result.grant.lease, WriteKind::kRelease, Body()));
}

TEST_F(MockedStoreTest, ALockThatIsClosedForEverIsPolledAsAnyOther) {
  EXPECT_CALL(*store_, Watch(_, _)).WillRepeatedly([](auto&&...) { return nullptr; });
  int asked = 0;
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), _))
      .WillRepeatedly(Alone<AcquireOp>([&](AcquireOp& op) {
        ASSERT_LT(++asked, 1'000);
        op.status = OpStatus::kBusy;
        op.detail = std::make_unique<OpDetail>();
        op.detail->remaining = std::chrono::hours(24) * 365 * 8'000;  // until the year 9999
      }));
  EXPECT_EQ(Acquire(engine(), Spec({.wait = 10s}), {}).failure->code, Errc::kTimedOut);
  EXPECT_LE(asked, 202) << "every 50 ms";
}

TEST_F(MockedStoreTest, AWaitThatNothingCanEndLeavesNoWaiterBehind) {
  EXPECT_CALL(*store_, Watch(_, _)).WillRepeatedly([](auto&&...) { return nullptr; });
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), _)).WillOnce(Alone<AcquireOp>(Granted));
  AcquireResult held = Acquire(engine(), Spec(), {});
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kAcquire), _))
      .WillRepeatedly(Alone<AcquireOp>([&](AcquireOp& op) { op.status = OpStatus::kBusy; }));
  engine()->runtime().Stop({});  // no timer, no task comes any more
  EXPECT_THROW(Acquire(engine(), Spec({.wait = kForever}), {}), std::logic_error);
  EXPECT_CALL(*store_, Execute(OneOf(OpKind::kWrite), _)).WillOnce(Alone<WriteOp>([](WriteOp& op) {
    EXPECT_EQ(op.next, nullptr);
    op.status = OpStatus::kDone;
  }));
  EXPECT_FALSE(Write(held.grant.lease, WriteKind::kRelease, Body()));
}

}  // namespace
}  // namespace doclock::detail
