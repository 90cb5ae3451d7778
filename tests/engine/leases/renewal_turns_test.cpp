/// A renewal that waits for its turn is sent only if its lock still needs it then.

#include "engine/leases/lease.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class RenewalTurnsTest : public EngineTest {
 protected:
  /// How many renewals of a second lock are sent after one of another lock during which it fell due
  /// and `meanwhile` happened.
  int RenewalsAfter(const std::function<void(Grant&)>& meanwhile) {
    store->lanes = 1;  // one round of renewals at once
    Grant first = Lock("first", {.ttl = 30s});
    clock->Advance(5s);
    Grant second = Lock("second", {.ttl = 30s});
    int renewals = 0;
    store->OnExecute([&renewals](std::span<StoreOp* const> ops) {
      for (const StoreOp* op : ops) {
        renewals += op->kind == OpKind::kRenew && *op->key == Key("second") ? 1 : 0;
      }
    });
    store->before_reply = [&](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kRenew) return;
      store->before_reply = nullptr;
      clock->Advance(6s);
      EXPECT_EQ(renewals, 0) << "it waits for its turn";
      meanwhile(second);
    };
    clock->Advance(6s);
    store->OnExecute({});
    return renewals;
  }
};

TEST_F(RenewalTurnsTest, OfALockThatIsHeldItIsSent) {
  EXPECT_EQ(RenewalsAfter([](Grant&) {}), 1);
}

TEST_F(RenewalTurnsTest, OfALockThatIsBeingWrittenItIsSent) {
  EXPECT_EQ(RenewalsAfter([](Grant& grant) {
              WriteAsync(grant.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}}),
                         [](const FailurePtr& failure) { EXPECT_FALSE(failure); });
            }),
            1);
}

TEST_F(RenewalTurnsTest, OfALockThatWasReleasedItIsNotSent) {
  EXPECT_EQ(RenewalsAfter([this](Grant& grant) {
              EXPECT_FALSE(ReleaseWith(grant, {{"n", 1}}));
            }),
            0);
}

TEST_F(RenewalTurnsTest, OfALockThatIsRenewedNoMoreItIsNotSent) {
  EXPECT_EQ(RenewalsAfter([](Grant& grant) { grant.lease->StopRenewing(); }), 0);
}

TEST_F(RenewalTurnsTest, AtTheDeadlineOfALockItIsNotSent) {
  EXPECT_EQ(RenewalsAfter([this](Grant& grant) {
              const auto left = grant.lease->deadline() - clock->Now();
              clock->Jump(std::chrono::duration_cast<std::chrono::milliseconds>(left));
              EXPECT_EQ(clock->Now(), grant.lease->deadline());
            }),
            0);
}

/// Waits for long when it closes.
class PatientClosingTest : public EngineTest {
 protected:
  PatientClosingTest() : EngineTest({.drain_timeout = 20s}) {}
};

TEST_F(PatientClosingTest, NoLockIsRenewedAnyMoreWhileItIsClosed) {
  Grant held = Lock("a", {.ttl = 30s});
  store->OnExecute([this](std::span<StoreOp* const> ops) {
    if (ops.front()->kind == OpKind::kWrite) manager->Close();
  });
  WriteAsync(held.lease, WriteKind::kRelease, Body::FromJson({{"n", 1}}),
             [](const FailurePtr& failure) { EXPECT_FALSE(failure); });
  clock->RunPending();
  store->OnExecute({});
  EXPECT_EQ(store->Count(OpKind::kRenew), 0);
}

/// The first timer of all is a caller's time to wait.
TEST_F(PatientClosingTest, TheTimersOfRenewalsLeaveThoseOfOthersAlone) {
  Other().Create("a", {{"n", 0}}, {.ttl = 1h});
  const auto waiting = LockLater("a", {.wait = 1min});
  EXPECT_FALSE(waiting->result);
  const Grant held = Lock("b", {.ttl = 30s});
  clock->Advance(2min);
  EXPECT_EQ(waiting->code(), Errc::kTimedOut);
}

}  // namespace
}  // namespace doclock::detail
