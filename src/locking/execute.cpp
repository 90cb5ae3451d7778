#include "locking/program.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "locking/decide.h"
#include "rules/fault.h"

namespace doclock::locking {

bool PauseAfterRace(int runs, Deadline deadline) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = 1'000 << std::min(runs, 6);
  const std::chrono::microseconds pause(std::uniform_int_distribution(0, longest)(random));
  const Deadline next = std::chrono::steady_clock::now() + pause;
  if (next >= deadline) return false;
  std::this_thread::sleep_until(next);
  return true;
}

namespace {

/// Its result is not what was decided: neither a document nor an entry of a queue was stored.
/// Returns whether the decision had such an entry.
bool Void(StoreOp& op) noexcept {
  if (op.kind != OpKind::kAcquire) return false;
  auto& acquire = static_cast<AcquireOp&>(op);
  acquire.result.created = false;
  return std::exchange(acquire.result.queued, false);
}

/// What was decided may not be stored. kBusy stays, because it stored nothing. But if a queue entry
/// may have been stored, the result is cleared: the caller has to learn of the doubt, so that it
/// removes the entry.
/// @param in_doubt may it be stored?
void Reopen(StoreOp& op, bool in_doubt) noexcept {
  const bool may_stand = Void(op) && in_doubt;
  if (op.status != OpStatus::kBusy || may_stand) op.status = OpStatus::kPending;
}

/// Gives an operation the outcome of its document.
void Settle(StoreOp& op, const Document& document) {
  if (!document.IsDecided() || document.outcome.status == OpStatus::kDone) return;
  if (document.outcome.blocked || document.outcome.raced) return op.MakePending();
  Reopen(op, document.outcome.status == OpStatus::kInDoubt);
  if (op.status == OpStatus::kBusy) return;
  op.status = document.outcome.status;
  op.detail = std::make_unique<OpDetail>(*document.outcome.detail);
}

/// Lets the database carry out without a unit what it can.
void RunPlain(Database& database, std::span<StoreOp* const> ops, Deadline deadline) {
  for (StoreOp* const op : ops) op->MakePending();
  std::vector<rules::PlainOp> plain;
  for (StoreOp* const op : ops) {
    const rules::Plain kind = rules::PlainOf(*op);
    if (database.CanRun(kind)) plain.push_back({kind, op});
  }
  if (plain.empty()) return;
  Guarded([&] { database.RunPlain(plain, ops.size() == 1, deadline); },
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

/// How long a kWaitShortly operation waits for a locked row.
constexpr std::chrono::seconds kShortly{1};

Deadline PatienceOf(const StoreOp& op) noexcept {
  return op.if_kept == IfKept::kWaitShortly ? std::chrono::steady_clock::now() + kShortly
                                            : Deadline::max();
}

/// Alone, behind the others of its call? A renewal comes again.
bool MayWait(const StoreOp& op) noexcept {
  return op.if_kept != IfKept::kLeave && op.kind != OpKind::kRenew;
}

/// Its row is locked by another transaction, and nothing of it is stored.
void LeaveKept(StoreOp& op) {
  op.MakePending();
  if (op.if_kept == IfKept::kLeave) {
    op.status = OpStatus::kKept;
  } else {
    op.Fail(Errc::kUnavailable, kKeptText);
  }
}

/// Operations of one unit, and the documents that they name. It outlives the unit, which keeps
/// other clients waiting.
class Step {
 public:
  /// @param ops in their order; they outlive it
  /// @param alone see Asked
  Step(std::span<StoreOp* const> ops, bool alone) noexcept
      : ops_(ops), alone_(alone), patience_(alone ? PatienceOf(*ops.front()) : Deadline::max()) {}

  void RunIn(Unit& unit) {
    for (StoreOp* const op : ops_) {
      if (documents_.empty() || !IsOf(*op, documents_.back())) Ask(*op);
      of_.push_back(documents_.size() - 1);
    }
    unit.Load(documents_);
    ForEachDocument([&](StoreOp& op, Document& document) {
      if (!document.loaded.blocked) Decide(op, document, unit);
    });
    StoreIn(unit);
  }
  /// @param decide see ExecuteAlone
  void RunIn(Unit& unit, const DecideOne& decide) {
    of_.push_back(0);
    decide(unit, documents_);
    StoreIn(unit);
  }
  /// Forgets what a unit decided that stored nothing.
  void Clear() noexcept {
    for (StoreOp* const op : ops_) op->MakePending();
    of_.clear();
    documents_.clear();
  }

  /// Calls `settle` with the operations that have no result, or one that may not be stored, except
  /// those that need a unit of their own. If that throws, because memory runs out, none of them has
  /// a result that is not true.
  template <class F>
  void ForEachOpen(const F& settle, bool in_doubt) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (Of(i) && Of(i)->IsDecided()) Reopen(*ops_[i], in_doubt);
    }
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i]->status == OpStatus::kPending && !NeedsItsOwn(i)) settle(*ops_[i]);
    }
  }
  /// Is the operation's document kept by another client? Then it was left alone.
  [[nodiscard]] bool IsBlocked(std::size_t i) const noexcept { return Of(i) && Of(i)->IsBlocked(); }
  /// Was another client quicker with its document?
  [[nodiscard]] bool IsRaced(std::size_t i) const noexcept { return Of(i) && Of(i)->outcome.raced; }

 private:
  void Ask(const StoreOp& op) {
    Asked asked(op);
    asked.alone = alone_;
    asked.patience = patience_;
    documents_.emplace_back(asked);
  }
  void StoreIn(Unit& unit) {
    if (std::ranges::none_of(documents_, &Document::IsDecided)) return;
    unit.Commit(documents_);
    ForEachDocument([](StoreOp& op, const Document& document) { Settle(op, document); });
  }
  /// The document of an operation; null: it was not loaded.
  [[nodiscard]] const Document* Of(std::size_t i) const noexcept {
    return i < of_.size() && of_[i] < documents_.size() ? &documents_[of_[i]] : nullptr;
  }
  [[nodiscard]] bool NeedsItsOwn(std::size_t i) const noexcept {
    return !alone_ && (IsBlocked(i) || IsRaced(i));
  }
  template <class F>
  void ForEachDocument(const F& use) {
    for (std::size_t i = 0; i < ops_.size(); ++i) use(*ops_[i], documents_[of_[i]]);
  }
  static bool IsOf(const StoreOp& op, const Document& document) {
    return op.collection == document.asked.collection && *op.key == *document.asked.key;
  }

  const std::span<StoreOp* const> ops_;
  const bool alone_;
  const Deadline patience_;
  std::vector<Document> documents_;
  std::vector<std::size_t> of_;  ///< The document of each operation.
};

/// Carries out the operation in a unit of its own, until no other client races it.
/// @param races no run after one that is Raced begins later
template <class RunIn>
void ExecuteOne(Database& database, StoreOp& op, Deadline deadline, Deadline races,
                const RunIn& run_in) {
  StoreOp* const only[] = {&op};
  Step step(only, /*alone=*/true);
  const auto run = [&] {
    try {
      RunUntilUnraced(races, [&](bool again) {
        if (again) step.Clear();
        run_in(step, *database.Begin(AccessFor(only), deadline));
      });
    } catch (const Kept&) {
      LeaveKept(op);
    }
  };
  Guarded(run, [&](const auto& settle, bool in_doubt) { step.ForEachOpen(settle, in_doubt); });
}

void ExecuteOne(Database& database, StoreOp& op, Deadline deadline, Deadline races) {
  ExecuteOne(database, op, deadline, races, [](Step& step, Unit& unit) { step.RunIn(unit); });
}

using Ops = std::vector<StoreOp*>;

/// Carries out operations in one unit. @param rest those are added that need a unit of their own,
/// and @param kept those of them that will wait for other clients; they have no result.
/// @return false: another client's transaction keeps a collection, and nothing was done
bool ExecuteTogether(Database& database, std::span<StoreOp* const> ops, Deadline deadline,
                     Ops& rest, Ops& kept) {
  Step step(ops, /*alone=*/false);
  bool has_failed = false, is_kept = false;
  const auto run = [&] {
    std::unique_ptr<Unit> unit;
    try {
      unit = database.Begin(AccessFor(ops), deadline);
      step.RunIn(*unit);
    } catch (const Raced&) {
      has_failed = true;
    } catch (const Kept&) {
      is_kept = true;
    } catch (const Error&) {
      has_failed = unit != nullptr && unit->IsSpoilt();
      if (!has_failed) throw;
    }
  };
  Guarded(run, [&](const auto& settle, bool in_doubt) { step.ForEachOpen(settle, in_doubt); });
  // Nothing of what was decided is stored.
  if (has_failed || is_kept) std::ranges::for_each(ops, [](StoreOp* op) { op->MakePending(); });
  // Memory may run out from here on.
  for (std::size_t i = 0; i < ops.size() && !is_kept; ++i) {
    const bool blocked = step.IsBlocked(i);
    if (blocked && !MayWait(*ops[i])) {
      LeaveKept(*ops[i]);
    } else if (blocked) {
      kept.push_back(ops[i]);
    } else if (has_failed || step.IsRaced(i)) {
      rest.push_back(ops[i]);
    }
  }
  return !is_kept;
}

/// Refuses an operation that asks for what no type prevents, and returns whether it did.
bool RefuseFaulty(StoreOp& op) {
  const char* const fault = FaultOf(op);
  if (fault != nullptr) op.Fail(Errc::kRefused, fault);
  return fault != nullptr;
}

/// A part of its lease: so long a renewal may take, so that the next one comes early enough.
constexpr int kPartForRenewal = 6;
constexpr std::chrono::milliseconds kLeastForRenewal{1000};

Ops::iterator EndOfCollection(Ops::iterator first, Ops::iterator end) {
  return std::find_if(first, end,
                      [=](const StoreOp* op) { return op->collection != (*first)->collection; });
}

/// The deadline of a call: renewals of other leases do not wait for those that are held up.
Deadline BoundOf(std::span<StoreOp* const> ops, Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  Deadline bound = deadline;
  for (const StoreOp* const op : ops) {
    if (op->kind != OpKind::kRenew) return deadline;
    const auto& renewal = static_cast<const RenewOp&>(*op);
    bound =
        std::min(bound, now + std::max(renewal.request.ttl / kPartForRenewal, kLeastForRenewal));
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
    if (!ExecuteTogether(database, {first, last}, deadline, rest, kept)) {
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
    if (RefuseFaulty(op)) return;
    if (op.if_kept == IfKept::kWaitShortly) {
      op.MakePending();
    } else {
      RunPlain(database, ops, deadline);
    }
    if (op.status == OpStatus::kPending) ExecuteOne(database, op, deadline, deadline);
    return;
  }
  Ops sound;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(sound),
               [](StoreOp* op) { return !RefuseFaulty(*op); });
  if (sound.empty()) return;
  std::stable_sort(sound.begin(), sound.end(), StandsBefore);
  RunPlain(database, sound, deadline);
  std::erase_if(sound, [](const StoreOp* op) { return op->status != OpStatus::kPending; });
  const Ops rest = ExecuteBatches(database, sound, deadline);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    StoreOp* const op = rest[i];
    const Deadline now = std::chrono::steady_clock::now();
    if (now < deadline) {
      // One that is Raced each time leaves the others their share.
      constexpr Deadline::duration kLeast = std::chrono::milliseconds(500);
      const auto share = (deadline - now) / static_cast<std::int64_t>(rest.size() - i);
      const Deadline bound = BoundOf({&op, 1}, deadline);
      ExecuteOne(database, *op, bound, std::min(bound, now + std::max(share, kLeast)));
    } else {
      op->Fail(Errc::kUnavailable, "the time of the call was over");
    }
  }
}

void ReadTogether(Database& database, std::span<StoreOp* const> reads, Deadline deadline) {
  Ops sorted(reads.begin(), reads.end());
  std::stable_sort(sorted.begin(), sorted.end(), StandsBefore);
  Step step(sorted, /*alone=*/false);
  const auto read = [&](Unit& unit) {
    step.Clear();
    unit.SeeOneMoment();
    step.RunIn(unit);
  };
  Guarded([&] { RunUnit(database, Access::kRead, deadline, read); },
          [&](const auto& settle, bool) {
            for (StoreOp* const op : reads) settle(*op);
          });
}

void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline, const DecideOne& decide) {
  ExecuteOne(database, op, deadline, deadline,
             [&](Step& step, Unit& unit) { step.RunIn(unit, decide); });
}

}  // namespace doclock::locking
