/// Memory may run out inside a rule: then nothing of the lock has changed.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <string>

#include "allocation/failing_new.h"
#include "rules/acquire.h"
#include "rules/holder.h"
#include "rules/tidying.h"

namespace doclock::allocation_test {
namespace {

using rules::LockState;

constexpr TimePoint kNow{std::chrono::hours(1)};
constexpr std::chrono::milliseconds kTtl{30'000};
/// Too long for what a string holds without an allocation.
const std::string kGroup = "a group with a name that is longer than a short string is";

Collection& AnyCollection() {
  static Collection collection("things", {}, kTtl);
  return collection;
}

GrantRequest Grant(LockMode mode) {
  GrantRequest grant;
  grant.lock_id = NewUuid();
  grant.ttl = kTtl;
  grant.owner = std::make_shared<const LockHolder>();
  grant.group = kGroup;
  grant.mode = mode;
  return grant;
}

LockState Held(LockMode mode) {
  LockState state;
  const Key key("a");
  AcquireOp op(AnyCollection(), key);
  op.request.grant = Grant(mode);
  op.request.grant.group.clear();
  rules::AcquireNew(op, state, kNow);
  return state;
}

void ExpectSame(const LockState& now, const LockState& before) {
  EXPECT_EQ(now.lock_id, before.lock_id);
  EXPECT_EQ(now.version, before.version);
  EXPECT_EQ(now.fence, before.fence);
  EXPECT_EQ(now.released, before.released);
  EXPECT_EQ(now.group, before.group);
  EXPECT_EQ(now.owner, before.owner);
  EXPECT_EQ(now.shares.size(), before.shares.size());
}

/// Plays a rule until none of its allocations fails.
void Play(const LockState& before, const std::function<void(LockState&)>& rule) {
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    LockState state = before;
    FailingNew::FailAt(n);
    bool out_of_memory = false;
    try {
      const CodeUnderTest code;
      rule(state);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
    const bool failed = FailingNew::failed();
    FailingNew::Disarm();
    if (!failed) {
      EXPECT_EQ(state.version, before.version + 1);
      EXPECT_GT(n, 1) << "nothing was allocated";
      return;
    }
    EXPECT_TRUE(out_of_memory);
    ExpectSame(state, before);
  }
}

TEST(AllocationInRules, AGrantIsAllOrNothing) {
  const Key key("a");
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    AcquireOp op(AnyCollection(), key);
    op.request.grant = Grant(mode);
    LockState free;
    free.version = 7;
    Play(free, [&](LockState& state) { rules::Acquire(op, state, kNow); });
    EXPECT_EQ(op.result.version, 8);
  }
}

TEST(AllocationInRules, AShareBesideAnotherIsAllOrNothing) {
  const Key key("a");
  AcquireOp op(AnyCollection(), key);
  op.request.grant = Grant(LockMode::kShared);
  Play(Held(LockMode::kShared), [&](LockState& state) { rules::Acquire(op, state, kNow); });
}

TEST(AllocationInRules, AShareBesideOnesThatAreOverIsAllOrNothing) {
  const Key key("a");
  AcquireOp op(AnyCollection(), key);
  op.request.grant = Grant(LockMode::kShared);
  const TimePoint later = kNow + 2 * kTtl;
  Play(Held(LockMode::kShared), [&](LockState& state) { rules::Acquire(op, state, later); });
}

TEST(AllocationInRules, AHandOverIsAllOrNothing) {
  const Key key("a");
  const LockState held = Held(LockMode::kExclusive);
  const GrantRequest next = Grant(LockMode::kExclusive);
  WriteOp op(AnyCollection(), key);
  op.request.lock_id = held.lock_id;
  op.request.next = &next;
  Play(held, [&](LockState& state) { rules::Write(op, state, kNow); });
}

}  // namespace
}  // namespace doclock::allocation_test
