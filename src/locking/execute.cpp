#include "locking/execute.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locking/commit_frame.h"
#include "locking/decide.h"
#include "locking/order.h"
#include "locking/races.h"
#include "rules/fault.h"

namespace doclock::locking {
namespace {

/// Its result is not what was decided: neither a document nor an entry of a queue was stored.
/// Returns whether such an entry was to be.
bool Void(StoreOp& op) noexcept {
  if (op.kind != OpKind::kAcquire) return false;
  auto& acquire = static_cast<AcquireOp&>(op);
  acquire.created = false;
  return std::exchange(acquire.queued, false);
}

/// Forgets what was decided in a unit that stored nothing.
void Reset(StoreOp& op) noexcept {
  Void(op);
  op.MakePending();
}

/// What was decided may not be stored. One that is busy still is, unless its entry may be stored:
/// whoever is busy and not told of an entry does not take it back.
/// @param in_doubt may it be stored?
void Reopen(StoreOp& op, bool in_doubt) noexcept {
  const bool may_stand = Void(op) && in_doubt;
  if (op.status != OpStatus::kBusy || may_stand) op.status = OpStatus::kPending;
}

/// Gives an operation the outcome of its change.
void Settle(StoreOp& op, const Change& change) {
  if (!change.IsDecided() || change.outcome == OpStatus::kDone) return;
  if (change.blocked || change.raced) return Reset(op);
  Reopen(op, change.outcome == OpStatus::kInDoubt);
  if (op.status == OpStatus::kBusy) return;
  op.status = change.outcome;
  op.detail = std::make_unique<OpDetail>(*change.detail);
}

/// Lets the database carry out what it can without a unit.
void TryEach(Database& database, std::span<StoreOp* const> ops, Deadline deadline) {
  for (StoreOp* const op : ops) Reset(*op);
  Guarded([&] { database.Try(ops, deadline); },
          [&](const auto& settle, bool) {
            for (StoreOp* const op : ops) {
              if (op->status == OpStatus::kPending) settle(*op);
            }
          });
}

bool AreAll(std::span<StoreOp* const> ops, OpKind kind) noexcept {
  return std::all_of(ops.begin(), ops.end(), [=](const StoreOp* op) { return op->kind == kind; });
}
Access AccessFor(std::span<StoreOp* const> ops) noexcept {
  if (AreAll(ops, OpKind::kRead)) return Access::kRead;
  if (AreAll(ops, OpKind::kRenew)) return Access::kRenew;
  const bool waits = ops.size() == 1 && ops.front()->if_kept != IfKept::kLeave;
  return waits ? Access::kWrite : Access::kBriefly;
}

/// So long those wait for a document that are not to wait for as long as their call has.
constexpr std::chrono::seconds kShortly{1};

Deadline PatienceOf(const StoreOp& op) noexcept {
  return op.if_kept == IfKept::kWaitShortly ? std::chrono::steady_clock::now() + kShortly
                                            : Deadline::max();
}

/// Alone, behind the others of its call? A renewal comes again.
bool MayWait(const StoreOp& op) noexcept {
  return op.if_kept != IfKept::kLeave && op.kind != OpKind::kRenew;
}

/// Its document is kept, and nothing of it is stored.
void LeaveKept(StoreOp& op) {
  Reset(op);
  if (op.if_kept == IfKept::kLeave) {
    op.status = OpStatus::kKept;
  } else {
    op.Fail(Errc::kUnavailable, kKeptText);
  }
}

/// One operation, in a unit of its own.
class Lone {
 public:
  explicit Lone(StoreOp& op) noexcept : op_(op), patience_(PatienceOf(op)), change_(Fresh()) {}

  /// Calls `use` with a unit, until no other client races it.
  template <class Use>
  void Run(Database& database, Deadline deadline, const Use& use) {
    StoreOp* const only = &op_;
    const Access access = AccessFor({&only, 1});
    RunUntilUnraced(deadline, [&](bool again) {
      if (again) Begin();
      use(*database.Begin(access, deadline));
    });
  }
  void TryIn(Unit& unit) {
    tried_ = true;  // if it throws, what it decided is not stored
    tried_ = unit.Try(op_);
    tried_ ? unit.Commit({}) : DecideIn(unit);
  }
  void DecideIn(Unit& unit) {
    unit.Load({&change_, 1});
    Decide(op_, change_, unit);
    StoreIn(unit);
  }
  /// @param decide see ExecuteAlone
  template <class F>
  void DecideIn(Unit& unit, const F& decide) {
    decide(unit, change_);
    StoreIn(unit);
  }

  template <class F>
  void IfOpen(const F& settle, bool in_doubt) {
    if (tried_ || change_.IsDecided()) Reopen(op_, in_doubt);
    if (op_.status == OpStatus::kPending) settle(op_);
  }

 private:
  void Begin() noexcept {
    Reset(op_);
    change_ = Fresh();
    tried_ = false;
  }
  [[nodiscard]] Change Fresh() const noexcept {
    Change change(op_);
    change.alone = true;
    change.patience = patience_;
    return change;
  }
  void StoreIn(Unit& unit) {
    if (!change_.IsDecided()) return;
    unit.Commit({&change_, 1});
    if (change_.outcome != OpStatus::kDone) Settle(op_, change_);
  }

  StoreOp& op_;
  const Deadline patience_;
  Change change_;  // what it discards goes after the unit, which keeps others waiting
  bool tried_ = false;
};

/// Operations in one unit, and the documents that they name.
class Batch {
 public:
  /// @param ops in their order
  explicit Batch(std::vector<StoreOp*> ops) : ops_(std::move(ops)) {
    changes_.reserve(ops_.size());
    of_.reserve(ops_.size());
  }

  /// @param rest those are added that need a unit of their own, and @param kept those of them that
  /// will wait for other clients. They have no result.
  /// @return false: another client's transaction keeps a collection, and nothing was done
  bool Run(Database& database, Deadline deadline, std::vector<StoreOp*>& rest,
           std::vector<StoreOp*>& kept) {
    bool is_kept = false;
    const auto run = [&] {
      std::unique_ptr<Unit> unit;
      try {
        unit = database.Begin(AccessFor(ops_), deadline);
        RunIn(*unit);
      } catch (const Raced&) {
        has_failed_ = true;
      } catch (const Kept&) {
        is_kept = true;
      } catch (const Error&) {
        has_failed_ = unit != nullptr && unit->IsSpoilt();
        if (!has_failed_) throw;
      }
    };
    Guarded(run, [&](const auto& settle, bool in_doubt) { ForEachOpen(settle, in_doubt); });
    if (is_kept) {
      std::for_each(ops_.begin(), ops_.end(), [](StoreOp* op) { Reset(*op); });
      return false;
    }
    Leave(rest, kept);
    return true;
  }

 private:
  static constexpr std::size_t kTried = SIZE_MAX;

  void RunIn(Unit& unit) {
    bool decided = false;
    for (StoreOp* const op : ops_) {
      of_.push_back(kTried);  // if it throws, what it decided is not stored
      if (unit.Try(*op)) {
        decided = true;
        continue;
      }
      if (changes_.empty() || !IsOf(*op, changes_.back())) changes_.emplace_back(*op);
      of_.back() = changes_.size() - 1;
    }
    if (!changes_.empty()) unit.Load(changes_);
    ForEachChange([&](StoreOp& op, Change& change) {
      if (!change.blocked) Decide(op, change, unit);
    });
    for (const Change& change : changes_) decided = decided || change.IsDecided();
    if (!decided) return;
    unit.Commit(changes_);
    ForEachChange([](StoreOp& op, const Change& change) { Settle(op, change); });
  }

  /// Calls `settle` with the operations that have no result, or one that may not be stored, but for
  /// those that need a unit of their own. If that throws, because memory runs out, none of them has
  /// a result that is not true.
  template <class F>
  void ForEachOpen(const F& settle, bool in_doubt) {
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if (of_[i] == kTried || changes_[of_[i]].IsDecided()) Reopen(*ops_[i], in_doubt);
    }
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i]->status == OpStatus::kPending && !NeedsItsOwn(i)) settle(*ops_[i]);
    }
  }

  [[nodiscard]] bool Has(std::size_t i, bool Change::*flag) const noexcept {
    return i < of_.size() && of_[i] != kTried && changes_[of_[i]].*flag;
  }
  [[nodiscard]] bool NeedsItsOwn(std::size_t i) const noexcept {
    return Has(i, &Change::blocked) || Has(i, &Change::raced);
  }
  /// After a unit that has failed, nothing of what was decided is stored.
  void Leave(std::vector<StoreOp*>& rest, std::vector<StoreOp*>& kept) {
    if (has_failed_) std::for_each(ops_.begin(), ops_.end(), [](StoreOp* op) { Reset(*op); });
    // Memory may run out from here on.
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const bool blocked = Has(i, &Change::blocked);
      if (blocked && !MayWait(*ops_[i])) {
        LeaveKept(*ops_[i]);
      } else if (blocked) {
        kept.push_back(ops_[i]);
      } else if (has_failed_ || Has(i, &Change::raced)) {
        rest.push_back(ops_[i]);
      }
    }
  }

  template <class F>
  void ForEachChange(const F& use) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (of_[i] != kTried) use(*ops_[i], changes_[of_[i]]);
    }
  }
  static bool IsOf(const StoreOp& op, const Change& change) {
    return op.collection == change.collection && *op.key == *change.key;
  }

  std::vector<StoreOp*> ops_;
  std::vector<Change> changes_;
  std::vector<std::size_t> of_;  ///< The change of each operation, or kTried.
  bool has_failed_ = false;
};

/// Settles it and returns true, if no type prevents what it asks for.
bool IsFaulty(StoreOp& op) {
  const char* const fault = FaultOf(op);
  if (fault != nullptr) op.Fail(Errc::kRefused, fault);
  return fault != nullptr;
}

/// A part of its lease: so long a renewal may take, so that the next one comes early enough.
constexpr int kPartForRenewal = 6;
constexpr std::chrono::milliseconds kLeastForRenewal{1000};

using Ops = std::vector<StoreOp*>;
Ops::iterator EndOfCollection(Ops::iterator first, Ops::iterator end) {
  return std::find_if(first, end,
                      [=](const StoreOp* op) { return op->collection != (*first)->collection; });
}

/// Calls `run` with the operation as the only one of a unit.
template <class Run>
void ExecuteOne(StoreOp& op, const Run& run) {
  Lone lone(op);
  const auto run_unless_kept = [&] {
    try {
      run(lone);
    } catch (const Kept&) {
      LeaveKept(op);
    }
  };
  Guarded(run_unless_kept,
          [&](const auto& settle, bool in_doubt) { lone.IfOpen(settle, in_doubt); });
}

void ExecuteOne(Database& database, StoreOp& op, Deadline deadline) {
  ExecuteOne(
      op, [&](Lone& lone) { lone.Run(database, deadline, [&](Unit& unit) { lone.TryIn(unit); }); });
}

/// Of a call: renewals of other leases are not to wait for those that are held up.
Deadline BoundOf(std::span<StoreOp* const> ops, Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  Deadline bound = deadline;
  for (const StoreOp* const op : ops) {
    if (op->kind != OpKind::kRenew) return deadline;
    const auto& renewal = static_cast<const RenewOp&>(*op);
    bound = std::min(bound, now + std::max(renewal.ttl / kPartForRenewal, kLeastForRenewal));
  }
  return bound;
}

/// @param ops in their order. Returns those that need a unit of their own, in theirs.
Ops ExecuteBatches(Database& database, Ops& ops, Deadline deadline) {
  Ops rest, kept;
  // Renewals of one collection are not to wait for those of another, where that may be kept.
  bool apart = database.traits().lanes > 1 && AreAll(ops, OpKind::kRenew);
  for (auto first = ops.begin(); first != ops.end();) {
    const auto end = EndOfCollection(first, ops.end());
    const auto last = apart ? end : ops.end();
    if (!Batch({first, last}).Run(database, deadline, rest, kept)) {
      if (last != end) {
        apart = true;  // which collection is kept?
        continue;
      }
      std::for_each(first, last, [](StoreOp* op) { LeaveKept(*op); });
    }
    first = last;
  }
  rest.insert(rest.end(), kept.begin(), kept.end());
  return rest;
}

}  // namespace

void Execute(Database& database, std::span<StoreOp* const> ops, Deadline deadline) {
  deadline = BoundOf(ops, deadline);
  if (ops.size() == 1) {
    StoreOp& op = *ops.front();
    if (IsFaulty(op)) return;
    if (op.if_kept == IfKept::kWaitShortly) {
      Reset(op);
    } else {
      TryEach(database, ops, deadline);
    }
    if (op.status == OpStatus::kPending) ExecuteOne(database, op, deadline);
    return;
  }
  Ops sound;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(sound),
               [](StoreOp* op) { return !IsFaulty(*op); });
  if (sound.empty()) return;
  std::stable_sort(sound.begin(), sound.end(), StandsBefore);
  TryEach(database, sound, deadline);
  std::erase_if(sound, [](const StoreOp* op) { return op->status != OpStatus::kPending; });
  for (StoreOp* const op : ExecuteBatches(database, sound, deadline)) {
    if (std::chrono::steady_clock::now() < deadline) {
      ExecuteOne(database, *op, BoundOf({&op, 1}, deadline));
    } else {
      op->Fail(Errc::kUnavailable, "the time of the call was over");
    }
  }
}

void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline,
                  const std::function<void(Unit&, Change&)>& decide) {
  ExecuteOne(op, [&](Lone& lone) {
    lone.Run(database, deadline, [&](Unit& unit) { lone.DecideIn(unit, decide); });
  });
}

}  // namespace doclock::locking
