/// A user's Runtime may throw anything from any of its functions: no operation is lost, none
/// completes twice, and an unknown outcome is in doubt.

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "engine/runtime/failing_runtime.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// No std::exception.
struct Odd {};

class ThrowingRuntimeTest : public EngineTest {
 protected:
  /// The n-th call from now on throws, and with `for_ever` each one after it.
  void ThrowAt(int which, bool for_ever) {
    calls_ = 0;
    failing->before_each = [this, which, for_ever] {
      const int call = calls_++;
      if (call == which || (for_ever && call > which)) throw Odd();
    };
  }
  void Heal() { failing->before_each = nullptr; }
  [[nodiscard]] bool Reached(int which) const { return calls_ > which; }

  EnginePtr engine_there() { return there.engine(); }
  Grant LockThere(const Key& key, LockOptions options = {}) { return LockBy(there, key, options); }
  /// One call ends between two attempts.
  template <class Call>
  auto Interrupt(const Call& call) {
    failing->on_schedule = []() -> Runtime::TimerId { throw std::runtime_error("no timer"); };
    auto result = call();
    failing->on_schedule = nullptr;
    return result;
  }

  std::shared_ptr<FailingRuntime> failing = std::make_shared<FailingRuntime>(runtime);
  LockManager there{store, {.call_budget = 1s, .runtime = failing}};

 private:
  int calls_ = 0;
};

TEST_F(ThrowingRuntimeTest, AnInterruptedDetachIsInDoubt) {
  const Grant held = LockThere("a", {.ttl = 9s});
  Strike(Fault::Kind::kLostAfter, OpKind::kRenew);
  const FailurePtr failure = Interrupt([&] { return Detach(held.lease); });
  EXPECT_EQ(CodeOf(failure), Errc::kInDoubt);
  EXPECT_FALSE(LeaseHeld(*held.lease));
}

TEST_F(ThrowingRuntimeTest, AnInterruptedRenewalIsInDoubtAndTheLockHeldAsLongAsBefore) {
  const Grant held = LockThere("a", {.ttl = 9s, .renew = false});
  Strike(Fault::Kind::kLostAfter, OpKind::kRenew);
  const FailurePtr failure = Interrupt([&] { return Renew(held.lease, 1h); });
  EXPECT_EQ(CodeOf(failure), Errc::kInDoubt);
  EXPECT_TRUE(LeaseHeld(*held.lease));
  clock->Advance(1min);
  EXPECT_FALSE(LeaseHeld(*held.lease));
  EXPECT_FALSE(IsLocked("a")) << "the longer lease is given back";
}

TEST_F(ThrowingRuntimeTest, AnInterruptedAttemptIsInDoubtAndItsLockGivenBack) {
  Strike(Fault::Kind::kLostAfter, OpKind::kAcquire);
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRenew});
  const AcquireResult result = Interrupt([&] { return Acquire(engine_there(), Spec("a"), {}); });
  EXPECT_EQ(CodeOf(result), Errc::kInDoubt);
  clock->Advance(5s);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(ThrowingRuntimeTest, AGrantThatCannotBeKeptIsGivenBackAndNotInDoubt) {
  const AcquireResult result = Interrupt([&] { return Acquire(engine_there(), Spec("a"), {}); });
  ASSERT_TRUE(result.failure);
  EXPECT_NE(result.failure->code, Errc::kInDoubt);
  clock->Advance(5s);
  EXPECT_FALSE(IsLocked("a"));
}

/// How often each operation was answered.
using Answers = std::map<std::string, int>;

TEST_F(ThrowingRuntimeTest, EachOperationIsAnsweredOnceWhereverItThrows) {
  for (const bool for_ever : {false, true}) {
    bool more = true;
    for (int which = 0; more && !HasFailure(); ++which) {
      SCOPED_TRACE((for_ever ? "from call " : "call ") + std::to_string(which));
      Answers started, answered;
      const auto begin = [&](const std::string& name, const std::function<void()>& start) {
        try {
          start();
          ++started[name];
        } catch (const Odd&) {
          // It has not begun.
        } catch (const std::exception&) {
          // Nor here.
        }
      };
      const auto told = [&](const std::string& name) {
        return [&answered, name](const auto&) { ++answered[name]; };
      };
      Grant renewed = LockThere("renewed"), detached = LockThere("detached"),
            released = LockThere("released"), handed_over = LockThere("handed over"),
            dropped = LockThere("dropped");
      Strike(Fault::Kind::kLostAfter, OpKind::kRenew);
      Strike(Fault::Kind::kLostAfter, OpKind::kWrite);
      ThrowAt(which, for_ever);
      begin("lock", [&] { AcquireAsync(engine_there(), Spec("free"), told("lock")); });
      for (const char* waiter : {"first", "second"}) {
        begin(waiter, [&] {
          AcquireAsync(engine_there(), Spec("handed over", {.wait = 10s}), told(waiter));
        });
      }
      begin("search", [&] {
        AcquireNextAsync(engine_there(), Spec({}, {.wait = 10s}, false), told("search"));
      });
      begin("renew", [&] { RenewAsync(renewed.lease, 1min, told("renew")); });
      begin("detach", [&] { DetachAsync(detached.lease, told("detach")); });
      begin("release",
            [&] { WriteAsync(released.lease, WriteKind::kRelease, Body(), told("release")); });
      begin("hand over",
            [&] { WriteAsync(handed_over.lease, WriteKind::kRelease, Body(), told("hand over")); });
      begin("read", [&] { ReadAsync(engine_there(), *collection, "free", told("read")); });
      begin("query", [&] { QueryAsync(engine_there(), *collection, Filter{}, told("query")); });
      dropped = {};
      clock->Advance(5s);
      more = Reached(which);
      Heal();
      clock->Advance(5min);
      EXPECT_EQ(answered, started);
      store->Heal();
      for (Grant* grant : {&renewed, &detached, &released, &handed_over}) *grant = {};
      clock->Advance(5min);
      for (const char* key :
           {"free", "renewed", "detached", "released", "handed over", "dropped"}) {
        EXPECT_FALSE(IsLocked(key)) << key;
      }
    }
  }
}

}  // namespace
}  // namespace doclock::detail
