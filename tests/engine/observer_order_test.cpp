/// The order of the events of one lock.

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;

class EventRecorder : public Observer {
 public:
  void OnGranted(const LockEvent&, nanoseconds, bool) override { Note("granted"); }
  void OnRenewed(const LockEvent&) override { Note("renewed"); }
  void OnRenewalFailing(const LockEvent&, nanoseconds remaining) override {
    Note(remaining > 0s ? "failing" : "failing, with nothing left");
  }
  void OnLost(const LockEvent&) override { Note("lost"); }
  void OnReleased(const LockEvent&, nanoseconds) override { Note("released"); }
  void OnDiscarded(const LockEvent&, nanoseconds) override { Note("discarded"); }
  void OnInDoubt(const LockEvent&) override { Note("in doubt"); }
  void OnEnded(const LockEvent&) override { Note("ended"); }

  std::vector<std::string> notes;

 private:
  void Note(std::string what) { notes.push_back(std::move(what)); }
};

class ObserverOrderTest : public EngineTest {
 protected:
  explicit ObserverOrderTest(
      std::shared_ptr<EventRecorder> recorder = std::make_shared<EventRecorder>())
      : EngineTest({.observer = recorder}), told(std::move(recorder)) {}

  void FailRenewal() {
    store->Inject({.kind = Fault::Kind::kErrorBefore,
                   .op = OpKind::kRenew,
                   .key = {},
                   .skip = 0,
                   .times = 1});
  }
  /// Before the next reply to operations of this kind, `pass` lets time pass.
  void BeforeReply(OpKind kind, const std::function<void()>& pass) {
    store->before_reply = [this, kind, pass](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != kind) return;
      store->before_reply = nullptr;
      pass();
    };
  }

  std::shared_ptr<EventRecorder> told;
};

TEST_F(ObserverOrderTest, ARenewalThatFailsAfterTheDeadlineIsNotReported) {
  const Grant held = Lock("a", {.ttl = 9s});
  FailRenewal();
  BeforeReply(OpKind::kRenew, [&] { clock->Jump(20s); });
  clock->Advance(30s);
  EXPECT_THAT(told->notes, ElementsAre("granted", "lost", "ended"));
}

TEST_F(ObserverOrderTest, ARenewalThatFailsAfterTheLossIsNotReported) {
  const Grant held = Lock("a", {.ttl = 9s});
  FailRenewal();
  BeforeReply(OpKind::kRenew, [&] { clock->Advance(20s); });
  clock->Advance(30s);
  EXPECT_THAT(told->notes, ElementsAre("granted", "lost", "ended"));
}

TEST_F(ObserverOrderTest, WhatWasLostIsNotReleasedAfterwards) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    told->notes.clear();
    const Grant held = Lock("a", {.ttl = 9s, .renew = false, .mode = mode});
    BeforeReply(OpKind::kWrite, [&] { clock->Advance(20s); });
    EXPECT_FALSE(Write(held.lease, WriteKind::kRelease, Body())) << "it came through";
    clock->Advance(1min);
    EXPECT_THAT(told->notes, ElementsAre("granted", "lost", "ended"));
  }
}

TEST_F(ObserverOrderTest, ALossInTheMiddleOfADoubtfulWriteIsToldFirst) {
  const Grant held = Lock("a", {.ttl = 9s, .renew = false});
  store->Inject(
      {.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .key = {}, .skip = 0, .times = 1});
  BeforeReply(OpKind::kWrite, [&] { clock->Advance(20s); });
  EXPECT_TRUE(Write(held.lease, WriteKind::kRelease, Body()));
  clock->Advance(1min);
  ASSERT_GE(told->notes.size(), 3U);
  EXPECT_EQ(told->notes[1], "lost");
  EXPECT_EQ(told->notes[2], "ended");
}

TEST_F(ObserverOrderTest, AReleaseEndsWhatRenewalsSay) {
  const Grant held = Lock("a", {.ttl = 9s});
  BeforeReply(OpKind::kRenew,
              [&] { ASSERT_FALSE(Write(held.lease, WriteKind::kRelease, Body())); });
  clock->Advance(30s);
  EXPECT_THAT(told->notes, ElementsAre("granted", "discarded", "ended"));
}

}  // namespace
}  // namespace doclock::detail
