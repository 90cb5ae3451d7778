#include "simulation/play/plan.h"

#include <algorithm>
#include <array>

#include "simulation/machine/skewed_clock.h"
#include "simulation/play/random.h"
#include "simulation/play/story.h"

namespace doclock::simulation {
namespace {

using std::chrono::milliseconds;
using Kind = Fault::Kind;

constexpr int kOperations = 40;
constexpr int kCrowd = 14;
constexpr milliseconds kBegin{10};

/// How often each verb is wanted.
constexpr std::array kVerbs = {
    Verb::kLock,         Verb::kLock,   Verb::kLock,       Verb::kLock,        Verb::kSave,
    Verb::kSave,         Verb::kUpdate, Verb::kLockEntity, Verb::kLockNext,    Verb::kLockAll,
    Verb::kFind,         Verb::kInsert, Verb::kErase,      Verb::kName,        Verb::kName,
    Verb::kShare,        Verb::kShare,  Verb::kShare,      Verb::kLetter,      Verb::kSearch,
    Verb::kSearch,       Verb::kNames,  Verb::kBreak,      Verb::kForgettable, Verb::kRenewGroup,
    Verb::kReleaseGroup, Verb::kPurge,
};
constexpr std::array kTogether = {Verb::kTransfer, Verb::kTransfer, Verb::kMove,
                                  Verb::kReadTogether, Verb::kSearch};
constexpr std::array kKinds = {
    Kind::kLoseRequests, Kind::kLoseReplies, Kind::kRepeat,     Kind::kLate,
    Kind::kSlow,         Kind::kCut,         Kind::kLoseHints,  Kind::kSlowHints,
    Kind::kPause,        Kind::kDrift,       Kind::kSlowClock,  Kind::kFastClock,
    Kind::kStopClock,    Kind::kJumpClock,   Kind::kKill,       Kind::kClose,
    Kind::kFailOver,     Kind::kDepose,      Kind::kNoMajority, Kind::kLeapDatabaseClock,
};

/// Some of them; at least one.
template <class All>
auto Some(Random& random, const All& all) {
  std::vector<typename All::value_type> some;
  const auto chance = random.Between<std::uint64_t>(200, 1000);
  for (const auto& one : all) {
    if (random.Chance(chance)) some.push_back(one);
  }
  if (some.empty()) some.push_back(random.Pick(all));
  return some;
}

std::int64_t AmountOf(Kind kind, Random& random) {
  switch (kind) {
    case Kind::kLoseRequests:
    case Kind::kLoseReplies:
    case Kind::kRepeat:
    case Kind::kLate:
      return random.Between(30, 500);
    case Kind::kLoseHints:
      return random.Between(200, 1000);
    case Kind::kSlow:
    case Kind::kSlowHints:
      return random.Between(2, 1500);
    case Kind::kDrift:
      return SkewedClock::kTrue + random.Between(-700, 2000);
    case Kind::kSlowClock:
      return SkewedClock::kTrue * random.Between(20, 95) / 100;
    case Kind::kFastClock:
      return SkewedClock::kTrue * random.Between(105, 300) / 100;
    case Kind::kJumpClock:
    case Kind::kLeapDatabaseClock:
      return random.Between(10, 4000);
    case Kind::kFailOver:
    case Kind::kDepose:
      return random.Between(0, 20);
    default:
      return 0;
  }
}

/// Those that are over as soon as they have begun.
bool IsMoment(Kind kind) { return kind == Kind::kJumpClock || kind == Kind::kLeapDatabaseClock; }

Fault MakeFault(Random& random, Kind kind, int processes) {
  Fault fault;
  fault.kind = kind;
  fault.process = static_cast<int>(random.Below(static_cast<std::uint64_t>(processes)));
  fault.amount = AmountOf(kind, random);
  // Not before a majority has the documents of the beginning.
  fault.from = std::max(kBegin, random.Between(milliseconds(0), milliseconds(18'000)));
  const bool is_short = kind == Kind::kFailOver || random.Chance(500);
  const Time length = random.Between(milliseconds(20), milliseconds(is_short ? 800 : 5000));
  fault.to = IsMoment(kind) ? fault.from : std::min<Time>(fault.from + length, kFaultsEnd);
  return fault;
}

/// Many clients, most of them of one process, want the same lock at the same time.
void GatherCrowd(Random& random, Plan& plan) {
  const Time begin = random.Between(milliseconds(10), milliseconds(15'000));
  const auto home = random.Below(static_cast<std::uint64_t>(plan.processes));
  for (int i = 0; i < kCrowd; ++i) {
    Operation& operation = plan.operations[static_cast<std::size_t>(i)];
    operation.at = begin + random.Between(milliseconds(0), milliseconds(500));
    if (random.Chance(800)) operation.process = static_cast<int>(home);
    operation.verb = Verb::kCrowd;
  }
}

/// The process that a deposed primary serves writes something, and then searches.
void WriteToDeposed(Random& random, Plan& plan) {
  for (const Fault& fault : plan.faults) {
    if (fault.kind != Kind::kDepose) continue;
    const Time half = (fault.to - fault.from) / 2;
    for (const Verb verb : {Verb::kUpdate, Verb::kSave, Verb::kSearch}) {
      Operation& operation = plan.operations[random.Below(kOperations)];
      const Time later = random.Below(1000) * half / 1000;
      operation.at = fault.from + later + (verb == Verb::kSearch ? half : Time());
      operation.process = fault.process;
      operation.verb = verb;
    }
  }
}

/// In every fourth plan, half of the operations are of several documents. By luck of its own: all
/// other plans are as they would be without.
void PutTogether(Plan& plan) {
  if (plan.seed % 4 != 3) return;
  Random random(Mix(plan.seed, HashOf("together")));
  for (Operation& operation : plan.operations) {
    if (random.Chance(500)) operation.verb = random.Pick(kTogether);
  }
}

}  // namespace

Plan MakePlan(std::uint64_t seed) {
  Random random(Mix(seed, HashOf("plan")));
  Plan plan;
  plan.seed = seed;
  plan.processes = random.Between(2, 4);
  const auto verbs = Some(random, kVerbs);
  for (int i = 0; i < kOperations; ++i) {
    plan.operations.push_back(
        {random.Between(milliseconds(10), milliseconds(17'000)),
         static_cast<int>(random.Below(static_cast<std::uint64_t>(plan.processes))),
         random.Pick(verbs), random.Next()});
  }
  if (random.Chance(250)) GatherCrowd(random, plan);
  const auto kinds = Some(random, kKinds);
  const int faults = random.Between(0, 14);
  for (int i = 0; i < faults; ++i) {
    plan.faults.push_back(MakeFault(random, random.Pick(kinds), plan.processes));
  }
  WriteToDeposed(random, plan);
  PutTogether(plan);
  const auto earlier = [](const auto& time) {
    return [=](const auto& a, const auto& b) { return a.*time < b.*time; };
  };
  std::stable_sort(plan.operations.begin(), plan.operations.end(), earlier(&Operation::at));
  std::stable_sort(plan.faults.begin(), plan.faults.end(), earlier(&Fault::from));
  return plan;
}

std::string TextOf(const Fault& fault) {
  const std::string who = "p" + std::to_string(fault.process);
  const std::string amount = std::to_string(fault.amount);
  const auto what = [&]() -> std::string {
    switch (fault.kind) {
      case Kind::kLoseRequests:
        return amount + " of 1000 requests of " + who + " are lost";
      case Kind::kLoseReplies:
        return amount + " of 1000 replies to " + who + " are lost";
      case Kind::kRepeat:
        return amount + " of 1000 requests of " + who + " are repeated";
      case Kind::kLate:
        return amount + " of 1000 requests of " + who + " are late";
      case Kind::kSlow:
        return "messages of " + who + " take up to " + amount + " ms";
      case Kind::kCut:
        return who + " is cut off";
      case Kind::kLoseHints:
        return amount + " of 1000 hints to " + who + " are lost";
      case Kind::kSlowHints:
        return "hints to " + who + " take up to " + amount + " ms";
      case Kind::kPause:
        return who + " is paused";
      case Kind::kDrift:
        return "the clock of " + who + " runs at " + amount + " ppm, within the margin";
      case Kind::kSlowClock:
        return "the clock of " + who + " runs at " + amount + " ppm, too slow";
      case Kind::kFastClock:
        return "the clock of " + who + " runs at " + amount + " ppm, too fast";
      case Kind::kStopClock:
        return "the clock of " + who + " stands still";
      case Kind::kJumpClock:
        return "the clock of " + who + " jumps " + amount + " ms ahead";
      case Kind::kKill:
        return who + " is killed, and started again at the end";
      case Kind::kClose:
        return who + " closes its manager, and opens another at the end";
      case Kind::kFailOver:
        return "the primary is lost; the next one's clock is " + amount + " ms ahead";
      case Kind::kDepose:
        return "the primary is deposed, and serves " + who + " still; the next one's clock is " +
               amount + " ms ahead";
      case Kind::kNoMajority:
        return "no majority copies the primary";
      case Kind::kLeapDatabaseClock:
        return "the database's clock leaps " + amount + " ms ahead, beyond the margin";
    }
    return {};
  }();
  return "fault: " + what + ", from" + Story::TextOf(fault.from) + " to" + Story::TextOf(fault.to);
}

}  // namespace doclock::simulation
