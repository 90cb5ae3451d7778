#include "simulation/database/database.h"

#include <algorithm>

namespace doclock::simulation {
namespace {

using std::chrono::milliseconds;

/// How long a majority takes to copy a change.
constexpr Time kReplication = milliseconds(2);

}  // namespace

Database::Database(World& world, DatabaseWatcher& watcher, Breakage breakage)
    : world_(world),
      watcher_(watcher),
      breakage_(breakage),
      member_(std::make_shared<Member>(
          [this] { return Now() + early_; },
          [this](std::vector<Change> changes) { Commit(std::move(changes)); })),
      store_(StoreOver(member_)) {}

TimePoint Database::Now() const noexcept {
  const Time shown = std::chrono::hours(10) + world_.now() + clock_ahead_ + leaps_;
  high_water_ = std::max(high_water_, TimePoint(shown));
  return high_water_;
}

void Database::Execute(StoreOp& op) {
  Note(op);
  if (breakage_ != Breakage::kNone) return ExecuteBroken(op);
  StoreOp* const one[] = {&op};
  store_->Execute(one, kBudget);
}

void Database::Commit(std::vector<Change> changes) {
  for (Change& change : changes) {
    if (breakage_ == Breakage::kReusesVersions && change.before && change.after) {
      change.after->lock["version"] = change.before->lock["version"];
    }
    if (breakage_ == Breakage::kReordersQueues) SwapWaiters(change);
    if (breakage_ == Breakage::kSkipsWaiters) SkipWaiter(change);
    if (breakage_ == Breakage::kLetsSharesPass) LetShareIn(change);
    member_->Put(change, change.after);
    if (breakage_ != Breakage::kNone && change.before) {
      former_[{change.collection, change.key}] = {world_.now(), change.before->body};
    }
    watcher_.OnChange(change);
    unsure_.push_back(std::move(change));
    ++changes_;
  }
  world_.After(kReplication, [this, last = changes_, term = term_] { Replicated(last, term); });
}

void Database::Replicated(std::uint64_t change, std::uint64_t term) {
  if (term != term_) return;
  replicated_ = std::max(replicated_, change);
  AnswerWaiting();
}

void Database::AnswerWaiting() {
  if (stopped_ > 0 || !has_primary_) return;
  for (; sure_ < replicated_; ++sure_) unsure_.pop_front();
  std::vector<Waiting> answered;
  const auto rest = std::stable_partition(waiting_.begin(), waiting_.end(),
                                          [&](const Waiting& w) { return w.change > sure_; });
  std::move(rest, waiting_.end(), std::back_inserter(answered));
  waiting_.erase(rest, waiting_.end());
  for (const Waiting& waiting : answered) waiting.reply();
}

void Database::WhenMajorityHasIt(World::Task reply) {
  const bool now =
      (changes_ == sure_ && stopped_ == 0) || breakage_ == Breakage::kForgetsAcknowledged;
  if (now) return reply();
  waiting_.push_back({changes_, std::move(reply)});
  // What only looks, too, proves that this is the primary still.
  world_.After(kReplication, [this, term = term_, last = changes_] { Replicated(last, term); });
}

void Database::ResumeReplication() {
  --stopped_;
  AnswerWaiting();
}

void Database::LosePrimary() {
  if (!has_primary_) return;
  has_primary_ = false;
  ++term_;
  waiting_.clear();
  for (; !unsure_.empty(); unsure_.pop_back(), --changes_) {
    member_->Put(unsure_.back(), unsure_.back().before);
    watcher_.OnUndone(unsure_.back());
  }
  replicated_ = sure_;
}

void Database::ElectPrimary(Time clock_ahead) {
  has_primary_ = true;
  clock_ahead_ = clock_ahead;
}

void Database::Depose(int process, Time clock_ahead, Time until) {
  if (!has_primary_) return;
  EndDeposed();
  deposed_ = std::make_unique<Deposed>(
      process, *member_, unsure_,
      [this, ahead = clock_ahead_ + leaps_] {
        return TimePoint(std::chrono::hours(10) + world_.now() + ahead);
      },
      watcher_, breakage_);
  LosePrimary();
  ElectPrimary(clock_ahead);
  world_.At(until, [this, number = ++depositions_] {
    if (number == depositions_) EndDeposed();
  });
}

void Database::EndDeposed() {
  if (!deposed_) return;
  const auto over = std::move(deposed_);
  last_deposed_ = world_.now();
  for (const World::Task& broken : over->TakeBroken()) broken();
}

void Database::LeapClock(Time ahead) { leaps_ += ahead; }

}  // namespace doclock::simulation
