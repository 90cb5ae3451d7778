#include "locking/execute.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "doclock/errors.h"
#include "locking/decide.h"
#include "rules/fault.h"

namespace doclock::locking {
namespace {

/// Its result is not what was decided: no entry of a queue was stored either.
void Void(StoreOp& op) noexcept {
  if (op.kind == OpKind::kAcquire) static_cast<AcquireOp&>(op).queued = false;
}

/// Gives an operation the outcome of its change.
void Settle(StoreOp& op, const Change& change) {
  if (!change.IsDecided() || change.outcome == OpStatus::kDone) return;
  Void(op);
  if (op.status == OpStatus::kBusy) return;  // it still is
  op.status = change.outcome;
  op.detail = std::make_unique<OpDetail>(*change.detail);
}

/// Runs a unit. If it fails, so do the operations that `for_each_open` shows.
template <class Run, class ForEachOpen>
void Guarded(const Run& run, const ForEachOpen& for_each_open) {
  try {
    run();
  } catch (const InDoubtException& error) {
    for_each_open([&](StoreOp& op) { op.Doubt(error.what()); });
  } catch (const Error& error) {
    for_each_open([&](StoreOp& op) { op.Fail(error.errc(), error.what()); });
  } catch (...) {
    // What was decided may be stored, or not.
    for_each_open([](StoreOp& op) { op.status = OpStatus::kPending; });
    throw;
  }
}

/// Operations, and the documents that they name.
class Batch {
 public:
  explicit Batch(std::span<StoreOp* const> ops) {
    for (StoreOp* const op : ops) {
      if (const char* const fault = FaultOf(*op)) {
        op->Fail(Errc::kRefused, fault);
      } else {
        ops_.push_back(op);
      }
    }
    // One order for all clients: units that lock what they load cannot wait for each other.
    std::stable_sort(ops_.begin(), ops_.end(), StandsBefore);
    changes_.reserve(ops_.size());
    of_.reserve(ops_.size());
  }

  [[nodiscard]] const std::vector<StoreOp*>& ops() const noexcept { return ops_; }
  [[nodiscard]] Access access() const noexcept {
    const bool reads = std::all_of(ops_.begin(), ops_.end(),
                                   [](const StoreOp* op) { return op->kind == OpKind::kRead; });
    return reads ? Access::kRead : Access::kWrite;
  }

  void Run(Unit& unit) {
    bool decided = false;
    for (StoreOp* const op : ops_) {
      const bool done = unit.Try(*op);
      decided = decided || done;
      if (!done && (changes_.empty() || !IsOf(*op, changes_.back()))) changes_.emplace_back(*op);
      of_.push_back(done ? kTried : changes_.size() - 1);
    }
    if (!changes_.empty()) unit.Load(changes_);
    ForEachChange([&](StoreOp& op, Change& change) { Decide(op, change, unit); });
    for (const Change& change : changes_) decided = decided || change.IsDecided();
    if (!decided) return;
    unit.Commit(changes_);
    ForEachChange([](StoreOp& op, const Change& change) { Settle(op, change); });
  }

  /// Calls `settle` with the operations that have no result, or one that may not be stored. If that
  /// throws, because memory runs out, none of them has a result that is not true.
  template <class F>
  void ForEachOpen(const F& settle) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!MayBeUnstored(i)) continue;
      Void(*ops_[i]);
      if (ops_[i]->status != OpStatus::kBusy) ops_[i]->status = OpStatus::kPending;
    }
    for (StoreOp* const op : ops_) {
      if (op->status == OpStatus::kPending) settle(*op);
    }
  }

 private:
  static constexpr std::size_t kTried = SIZE_MAX;

  /// Was something decided, or done by Try?
  [[nodiscard]] bool MayBeUnstored(std::size_t i) const noexcept {
    return i < of_.size() && (of_[i] == kTried || changes_[of_[i]].IsDecided());
  }
  template <class F>
  void ForEachChange(const F& use) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (of_[i] != kTried) use(*ops_[i], changes_[of_[i]]);
    }
  }
  static bool StandsBefore(const StoreOp* a, const StoreOp* b) {
    if (a->collection != b->collection) return a->collection->name() < b->collection->name();
    return *a->key < *b->key;
  }
  static bool IsOf(const StoreOp& op, const Change& change) {
    return op.collection == change.collection && *op.key == *change.key;
  }
  std::vector<StoreOp*> ops_;
  std::vector<Change> changes_;
  std::vector<std::size_t> of_;  ///< The change of each operation, or kTried.
};

}  // namespace

void Execute(Database& database, std::span<StoreOp* const> ops, Deadline deadline) {
  Batch batch(ops);
  if (batch.ops().empty()) return;
  bool spoilt = false;
  const auto run = [&] {
    const auto unit = database.Begin(batch.access(), deadline);
    try {
      batch.Run(*unit);
    } catch (const Error&) {
      spoilt = unit->IsSpoilt();
      throw;
    }
  };
  Guarded(run, [&](const auto& settle) { batch.ForEachOpen(settle); });
  if (!spoilt || batch.ops().size() == 1) return;
  for (StoreOp* const op : batch.ops()) {
    op->status = OpStatus::kPending;
    op->detail.reset();
    Execute(database, {&op, 1}, deadline);
  }
}

void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline,
                  const std::function<std::optional<Change>(Unit&)>& decide) {
  Guarded(
      [&] {
        const auto unit = database.Begin(Access::kWrite, deadline);
        std::optional<Change> change = decide(*unit);
        if (!change || !change->IsDecided()) return;
        unit->Commit({&*change, 1});
        Settle(op, *change);
      },
      [&](const auto& settle) {
        Void(op);
        settle(op);
      });
}

}  // namespace doclock::locking
