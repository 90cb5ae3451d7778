#include "step.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace doclock::conformance {
namespace {

constexpr std::size_t kMostInATurn = 4;

bool CanJoin(const Turn& turn, const Step& step) {
  if (!step.joined || turn.size() == kMostInATurn) return false;
  if (!IsExecuted(step.kind) || !IsExecuted(turn.front().kind)) return false;
  return std::none_of(turn.begin(), turn.end(),
                      [&](const Step& other) { return other.key == step.key; });
}

Step::Kind KindOfPart(int pick, const Seen& seen) {
  using Kind = Step::Kind;
  static constexpr std::array kUnderLocks{
      Kind::kRelease,         Kind::kReleasePlain, Kind::kReleaseByValue,  Kind::kCheckpoint,
      Kind::kCheckpointPlain, Kind::kHandOver,     Kind::kHandOverForLong, Kind::kErase};
  static constexpr std::array kUnchanged{Kind::kReplace, Kind::kReplacePlain, Kind::kSaveErase};
  const auto of = [](const auto& kinds, int n) {
    return kinds[static_cast<std::size_t>(n) % kinds.size()];
  };
  if (pick % 24 == 11) return of(kUnderLocks, pick);
  if (pick % 24 == 5) return of(kUnchanged, pick);
  if (!seen.there) return Kind::kInsert;
  return seen.live ? of(kUnderLocks, pick) : of(kUnchanged, pick);
}

/// The step's `who` for this attempt; `otherwise` if there is none.
int WhoOf(int key, int attempt, int otherwise, const Attempts& attempts) {
  Step step;
  step.key = key;
  for (step.who = 0; step.who < Step::kMaxWho; ++step.who) {
    if (attempts.Of(step) == attempt) return step.who;
  }
  return otherwise;
}

}  // namespace

const char* Step::verb() const {
  static constexpr std::array<const char*, kMixedKinds> kNames{"acquire",
                                                               "create",
                                                               "share",
                                                               "create shared",
                                                               "renew",
                                                               "renew share",
                                                               "release",
                                                               "release share",
                                                               "release with note",
                                                               "release by value",
                                                               "checkpoint",
                                                               "hand over",
                                                               "erase",
                                                               "insert",
                                                               "replace",
                                                               "save-erase",
                                                               "expire",
                                                               "break",
                                                               "steal",
                                                               "purge",
                                                               "advance",
                                                               "acquire for long",
                                                               "hand over for long",
                                                               "acquire nil",
                                                               "share again",
                                                               "next",
                                                               "insert nothing",
                                                               "create for long",
                                                               "share for long",
                                                               "acquire again",
                                                               "create again",
                                                               "hand over to itself",
                                                               "release plain",
                                                               "checkpoint plain",
                                                               "replace plain",
                                                               "renew shares",
                                                               "read",
                                                               "search next",
                                                               "query",
                                                               "index",
                                                               "unique index",
                                                               "spoil",
                                                               "plant",
                                                               "commit"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool Step::again() const {
  return kind == Kind::kShareAgain || kind == Kind::kAcquireAgain || kind == Kind::kCreateAgain;
}

bool Step::creates() const {
  return kind == Kind::kCreate || kind == Kind::kCreateShared || kind == Kind::kCreateForLong ||
         kind == Kind::kCreateAgain;
}

bool Step::shared() const {
  return kind == Kind::kShare || kind == Kind::kCreateShared || kind == Kind::kShareForLong ||
         kind == Kind::kShareAgain;
}

bool Step::for_long() const {
  return kind == Kind::kAcquireForLong || kind == Kind::kCreateForLong ||
         kind == Kind::kShareForLong || kind == Kind::kHandOverForLong;
}

void PrintTo(const Step& step, std::ostream* out) {
  *out << "{" << step.verb() << " key " << step.key << " who " << step.who << " number "
       << step.number;
  if (step.shape != 0) *out << " shape " << step.shape;
  *out << (step.stale ? " stale" : "") << (step.joined ? " joined}" : "}");
}

int Attempts::Of(const Step& step) const {
  if (step.who + 1 >= Step::kMaxWho) return count_;
  const auto found = of_key_.find(step.key);
  if (found == of_key_.end()) return 0;
  const std::vector<int>& all = found->second;
  return all[all.size() - 1 - static_cast<std::size_t>(step.who) % all.size()];
}

std::vector<int> Attempts::Last(int key, int count) const {
  const auto found = of_key_.find(key);
  if (found == of_key_.end()) return {};
  const std::vector<int>& all = found->second;
  return {all.end() - std::min<std::ptrdiff_t>(count, std::ssize(all)), all.end()};
}

bool IsExecuted(Step::Kind kind) {
  using Kind = Step::Kind;
  switch (kind) {
    case Kind::kExpire:
    case Kind::kBreak:
    case Kind::kSteal:
    case Kind::kPurge:
    case Kind::kAdvance:
    case Kind::kNext:
    case Kind::kSearchNext:
    case Kind::kQuery:
    case Kind::kIndex:
    case Kind::kUniqueIndex:
    case Kind::kSpoil:
    case Kind::kPlant:
    case Kind::kCommit:
      return false;
    default:
      return true;
  }
}

Step PartOf(const Step& commit, int place, const Seen& seen, const Attempts& attempts) {
  Step part;
  part.key = KeyOfPart(commit, place);
  part.kind = KindOfPart(commit.number + 7 * place, seen);
  part.who = WhoOf(part.key, seen.holder, commit.who, attempts);
  part.number = (commit.number + 11 * place) % Step::kMaxNumber;
  part.stale = commit.stale && place == 0;
  // Equal values of all documents would leave nothing to a unique index.
  part.shape = place % 2 == 0 ? commit.shape : 0;
  return part;
}

std::vector<Turn> TurnsOf(const std::vector<Step>& steps) {
  std::vector<Turn> turns;
  for (const Step& step : steps) {
    if (turns.empty() || !CanJoin(turns.back(), step)) turns.emplace_back();
    turns.back().push_back(step);
  }
  return turns;
}

}  // namespace doclock::conformance
