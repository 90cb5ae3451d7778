// The store decides by the rules (src/rules), by its short cuts too: random operations on real
// files, compared with what the rules say of the state that was stored.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "rules/acquire.h"
#include "rules/fault.h"
#include "rules/holder.h"
#include "rules/save.h"
#include "rules/tidying.h"
#include "sqlite/rules/rules_world.h"

namespace doclock::sqlite_test {
namespace {

using Kind = RulesStep::Kind;

// What the rules make of a state.

void Decide(AcquireOp& op, OptionalState& state, TimePoint now) {
  if (state) return rules::Acquire(op, *state, now);
  op.status = OpStatus::kMissing;
  if (op.insert) rules::AcquireNew(op, state.emplace(), now);
}

void Decide(RenewOp& op, OptionalState& state, TimePoint now) {
  op.status = OpStatus::kMissing;
  if (state) rules::Renew(op, *state, now);
}

void Decide(WriteOp& op, OptionalState& state, TimePoint now) {
  op.status = OpStatus::kMissing;
  if (!state || !rules::MayWrite(op, *state, now)) return;
  rules::Write(op, *state, now);
  if (op.write == WriteKind::kErase) state.reset();
}

void Decide(SaveOp& op, OptionalState& state, TimePoint now) {
  if (!rules::MaySave(op, state ? &*state : nullptr, now)) return;
  if (!state) state.emplace().born = NewUuid();
  rules::Save(op, *state, now);
  if (op.save == SaveKind::kErase) state.reset();
}

/// More of what makes a lock than of what ends it.
std::vector<RulesStep> RandomSteps() {
  const auto kind = rc::gen::oneOf(
      rc::gen::inRange(0, RulesStep::kKinds),
      rc::gen::element(static_cast<int>(Kind::kCreate), static_cast<int>(Kind::kShare),
                       static_cast<int>(Kind::kRenew), static_cast<int>(Kind::kRenewShare),
                       static_cast<int>(Kind::kRelease), static_cast<int>(Kind::kReleaseShare),
                       static_cast<int>(Kind::kQueue), static_cast<int>(Kind::kQueueAgain),
                       static_cast<int>(Kind::kQueue), static_cast<int>(Kind::kReboot)));
  const auto step = rc::gen::apply(
      [](int which, int who, int number) {
        return RulesStep{static_cast<Kind>(which), who, number};
      },
      kind, rc::gen::inRange(0, 6), rc::gen::inRange(0, 64));
  return *rc::gen::container<std::vector<RulesStep>>(*rc::gen::inRange<std::size_t>(10, 60), step);
}

class SqliteRules : public ::testing::Test {
 protected:
  /// A document of its own for each case is quicker than a file of its own.
  Key NewKey() { return {++keys_}; }

  /// Plays one step on the store; what it said.
  static std::string Play(const RulesStep& step, RulesCase& each, Client& client,
                          const OptionalState& known) {
    std::string said;
    if (step.kind < Kind::kPurge) {
      each.Make(step, client.collection(), known, [&](auto& op) {
        client.Execute(op);
        said = Said(op);
      });
    } else if (step.kind == Kind::kPurge) {
      client.store().Purge(client.collection(), 1'000'000, kBudget);
    }
    return said;
  }

  std::string Decided(const RulesStep& step, RulesCase& each, Client& client,
                      OptionalState& state) const {
    const TimePoint now = clock_->Now();
    std::string said;
    if (step.kind < Kind::kPurge) {
      const OptionalState known = state;
      each.Make(step, client.collection(), known, [&](auto& op) {
        const char* const fault = FaultOf(op);
        fault != nullptr ? op.Fail(Errc::kRefused, fault) : Decide(op, state, now);
        said = Said(op);
      });
    } else if (step.kind == Kind::kPurge && state && rules::IsPurgeable(*state, now)) {
      rules::Purge(*state);
    }
    return said;
  }

  /// True: it was something that happens to all files.
  bool Happens(const RulesStep& step, const std::vector<RulesWorld*>& worlds) {
    if (step.kind < Kind::kAdvance) return false;
    if (step.kind == Kind::kAdvance) clock_->Advance((step.number % 4) * 10s);
    for (RulesWorld* world : worlds) {
      if (step.kind == Kind::kReopen) world->Reopen();
      if (step.kind == Kind::kReboot) world->Reboot();
    }
    return true;
  }

  /// Plays the steps on a document of its own; the first difference between the store and the
  /// rules.
  std::string DifferenceIn(const std::vector<RulesStep>& steps, RulesWorld& world) {
    RulesCase each(NewKey());
    for (const RulesStep& step : steps) {
      each.Begin(step);
      if (Happens(step, {&world})) continue;
      const int which = step.who % 2;
      OptionalState state = world.Look(each.key(), which);
      const std::string before = each.TextOf(state, clock_->Now());
      Client& client = world.client(which);
      const std::string said = Play(step, each, client, state);
      const std::string expected = Decided(step, each, client, state);
      const std::string after = each.TextOf(world.Look(each.key(), which), clock_->Now());
      const std::string text = "step " + std::to_string(static_cast<int>(step.kind)) + " of " +
                               std::to_string(step.number) + "\n" + before;
      if (said != expected) return text + "\nsaid " + said + "\nexpected " + expected;
      const std::string decided = each.TextOf(state, clock_->Now());
      if (after != decided) return text + "\nafter    " + after + "\nexpected " + decided;
    }
    return {};
  }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  std::int64_t keys_ = 0;
};

TEST_F(SqliteRules, EachOperationDoesWhatTheySay) {
  RulesWorld world(clock_);
  EXPECT_TRUE(rc::check([&] {
    const std::string difference = DifferenceIn(RandomSteps(), world);
    if (!difference.empty()) RC_FAIL(difference);
  }));
}

TEST_F(SqliteRules, ACheckpointExtendsTheLeaseOfAStoreThatHasEnded) {
  RulesWorld world(clock_);
  const std::vector<RulesStep> steps = {
      {Kind::kCreate, 1, 8}, {Kind::kReopen}, {Kind::kCheckpoint, 0, 1}};
  EXPECT_EQ(DifferenceIn(steps, world), "");
}

/// One ttl after a store has first looked at a lock of an earlier boot, nothing of that boot keeps
/// anybody out: neither its shares nor the writer who waited for them.
TEST_F(SqliteRules, AWriterOfAnEarlierBootKeepsNobodyOutForLongerThanTheShares) {
  RulesWorld world(clock_);
  constexpr int kShortest = 5;  // of the leases that ttl() knows; and no min_hold
  const std::vector<RulesStep> steps = {{Kind::kCreate, 0, kShortest},
                                        {Kind::kRelease, 0, kShortest},
                                        {Kind::kShare, 0, kShortest},
                                        {Kind::kQueue, 0, kShortest},
                                        {Kind::kReboot},
                                        {Kind::kAcquire, 0, kShortest},
                                        {Kind::kAdvance, 0, 1},
                                        {Kind::kShare, 0, kShortest}};
  EXPECT_EQ(DifferenceIn(steps, world), "");
}

/// One that has looked and ended does not count for others.
TEST_F(SqliteRules, AStoreCountsTheTimesOfAnEarlierBootFromItsOwnFirstLook) {
  RulesWorld world(clock_);
  const std::vector<RulesStep> steps = {
      {Kind::kCreate, 0, 0},  {Kind::kReboot},        {Kind::kAcquire, 1, 0}, {Kind::kReopen},
      {Kind::kAdvance, 0, 1}, {Kind::kAcquire, 1, 0}, {Kind::kAcquire, 0, 0}};
  EXPECT_EQ(DifferenceIn(steps, world), "");
}

/// What a mark or an unknown row keeps from the short cuts is done the long way.
TEST_F(SqliteRules, ShortCutsLeaveWhatTheLongWayLeaves) {
  RulesWorld quick(clock_), slow(clock_);
  EXPECT_TRUE(rc::check([&] {
    RulesCase each(NewKey());
    for (const RulesStep& step : RandomSteps()) {
      each.Begin(step);
      if (Happens(step, {&quick, &slow})) continue;
      const OptionalState state = quick.Look(each.key());
      const std::string said = Play(step, each, quick.client(step.who % 2), state);
      slow.ForgetRenewedRows();
      Client& client = slow.client(step.who % 2);
      std::string expected;
      if (step.kind >= Kind::kCheckpoint && step.kind <= Kind::kErase) {
        each.Make(step, client.collection(), slow.Look(each.key()), [&](auto& op) {
          if constexpr (requires { op.release_id; }) op.release_id = op.lock_id;
          client.Execute(op);
          expected = Said(op);
        });
      } else {
        expected = Play(step, each, client, slow.Look(each.key()));
      }
      RC_ASSERT(said == expected);
      RC_ASSERT(each.TextOf(quick.Look(each.key()), clock_->Now()) ==
                each.TextOf(slow.Look(each.key()), clock_->Now()));
    }
  }));
}

}  // namespace
}  // namespace doclock::sqlite_test
