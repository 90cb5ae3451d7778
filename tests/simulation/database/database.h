#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/database/breakage.h"
#include "simulation/database/deposed.h"
#include "simulation/database/member.h"
#include "simulation/database/primary.h"
#include "simulation/database/watcher.h"
#include "simulation/world.h"

namespace doclock::simulation {

/// A replicated database made of the lock core (rules/): what its primary does is acknowledged once
/// a majority has it, and a fail-over undoes the rest.
class Database final : public Primary {
 public:
  /// How much its members' clocks differ, at most: what its clients count with.
  static constexpr std::chrono::milliseconds kClockMargin{50};

  Database(World& world, DatabaseWatcher& watcher, Breakage breakage);

  [[nodiscard]] Store& store() noexcept override { return *store_; }
  /// Replies wait until a majority has all that they could have seen.
  [[nodiscard]] Store& sure() noexcept override { return *store_; }
  void Execute(StoreOp& op) override;
  void ExecuteTogether(std::span<StoreOp* const> ops) override;
  void Note(const StoreOp& op) override { watcher_.OnRequest(op); }
  std::int64_t Purge(Collection& collection, std::int64_t limit) override;
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query) override;
  /// Does it once a majority has all that was done so far; never if a fail-over comes first.
  void WhenMajorityHasIt(World::Task reply);

  /// The primary is gone, with all that no majority has. No request is served.
  void LosePrimary();
  /// There is a new one. Its clock is ahead of the true time by this much, within the margin.
  void ElectPrimary(Time clock_ahead);
  [[nodiscard]] bool has_primary() const noexcept { return has_primary_; }
  /// The others elect a new one at once. The old one goes on serving this process for a while.
  void Depose(int process, Time clock_ahead, Time until);
  /// The former primary that serves this process, if there is one.
  [[nodiscard]] Deposed* DeposedFor(int process) noexcept {
    return deposed_ && deposed_->process() == process ? deposed_.get() : nullptr;
  }
  /// Has no request that was sent after this moment reached a deposed primary?
  [[nodiscard]] bool WasOneSince(Time when) const noexcept {
    return !deposed_ && when >= last_deposed_;
  }
  /// Members stop or begin again to copy the primary.
  void StopReplication() { ++stopped_; }
  void ResumeReplication();
  /// The primary's clock jumps, by more than the margin.
  void LeapClock(Time ahead);
  [[nodiscard]] TimePoint Now() const noexcept;

 private:
  struct Waiting {
    std::uint64_t change;
    World::Task reply;
  };

  void Commit(std::vector<Change> changes);
  void Replicated(std::uint64_t change, std::uint64_t term);
  void AnswerWaiting();
  void EndDeposed();
  // How it is broken, if it is.
  void ExecuteBroken(StoreOp& op);
  bool GrantToNobody(WriteOp& op);
  static void SwapWaiters(Change& change);
  static void SkipWaiter(Change& change);
  static void LetShareIn(Change& change);
  void RetakeLost(RenewOp& op);
  void WriteAnyway(WriteOp& op);
  void SaveAnyway(SaveOp& op);
  void ShowFormer(ReadOp& op);
  void ShowOnce(ReadOp& op);
  bool KeepLock(WriteOp& op);
  [[nodiscard]] bool EverySo(std::uint64_t n) { return ++executed_ % n == 0; }

  World& world_;
  DatabaseWatcher& watcher_;
  const Breakage breakage_;
  std::shared_ptr<Member> member_;
  std::unique_ptr<Deposed> deposed_;
  int depositions_ = 0;
  Time last_deposed_{-1};
  std::deque<Change> unsure_;  ///< Changes that no majority has; the last is `changes_`.
  std::uint64_t changes_ = 0;
  std::uint64_t sure_ = 0;  ///< A majority has the changes up to this one.
  std::uint64_t replicated_ = 0;
  std::vector<Waiting> waiting_;
  std::uint64_t term_ = 0;
  int stopped_ = 0;
  bool has_primary_ = true;
  Time clock_ahead_{};
  Time leaps_{};
  mutable TimePoint high_water_{};
  Time early_{};  ///< Broken: how far ahead a grant looks.
  std::uint64_t executed_ = 0;
  struct Former {
    Time until;  ///< Of its replacement.
    Body body;
    bool seen = false;  ///< Was its replacement read?
  };
  std::map<std::pair<std::string, Key>, Former> former_;  ///< Broken: what was.
  std::shared_ptr<Store> store_;
};

}  // namespace doclock::simulation
