#include "locking/execute.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "doclock/errors.h"
#include "locking/decide.h"
#include "locking/races.h"
#include "rules/fault.h"

namespace doclock::locking {
namespace {

/// Gives an operation the outcome of its change.
void Settle(StoreOp& op, const Change& change) {
  if (!change.IsDecided() || change.outcome == OpStatus::kDone) return;
  op.status = change.outcome;
  op.detail = std::make_unique<OpDetail>(*change.detail);
}

void ResetResult(StoreOp& op) noexcept {
  op.status = OpStatus::kPending;
  op.detail.reset();
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
    for (const StoreOp* const op : ops_) {
      if (changes_.empty() || !IsOf(*op, changes_.back())) changes_.emplace_back(*op);
      of_.push_back(changes_.size() - 1);
    }
  }

  [[nodiscard]] bool empty() const noexcept { return ops_.empty(); }
  [[nodiscard]] Access access() const noexcept {
    const bool reads = std::all_of(ops_.begin(), ops_.end(),
                                   [](const StoreOp* op) { return op->kind == OpKind::kRead; });
    return reads ? Access::kRead : Access::kWrite;
  }

  /// Leaves what has to wait for other clients, or met them, to Apart.
  void Run(Database& database, Deadline deadline) {
    const auto run = [&](bool again) {
      if (again) Reset();
      RunIn(*database.Begin(access(), deadline));
    };
    if (changes_.size() == 1) return RunUntilUnraced(deadline, run);
    try {
      run(false);
    } catch (const Raced&) {
      Reset();
      for (Change& change : changes_) change.blocked = true;
    }
  }

  /// The operations of each document that is blocked.
  [[nodiscard]] std::vector<std::vector<StoreOp*>> Apart() const {
    std::vector<std::vector<StoreOp*>> apart;
    const Change* last = nullptr;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Change& change = changes_[of_[i]];
      if (!change.blocked) continue;
      if (&change != std::exchange(last, &change)) apart.emplace_back();
      apart.back().push_back(ops_[i]);
    }
    return apart;
  }

  /// Calls `settle` with the operations that have no result, or one that may not be stored.
  template <class F>
  void ForEachOpen(const F& settle) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Change& change = changes_[of_[i]];
      const bool open = ops_[i]->status == OpStatus::kPending || change.IsDecided();
      if (open && !change.blocked) settle(*ops_[i]);
    }
  }

 private:
  void RunIn(Unit& unit) {
    unit.Load(changes_);
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!changes_[of_[i]].blocked) Decide(*ops_[i], changes_[of_[i]], unit);
    }
    const bool decided = std::any_of(changes_.begin(), changes_.end(),
                                     [](const Change& change) { return change.IsDecided(); });
    if (!decided) return;
    unit.Commit(changes_);
    for (std::size_t i = 0; i < ops_.size(); ++i) Settle(*ops_[i], changes_[of_[i]]);
  }

  /// Forgets what a unit that raced has decided.
  void Reset() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      changes_[of_[i]] = Change(*ops_[i]);
      ResetResult(*ops_[i]);
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
  std::vector<std::size_t> of_;  ///< The change of each operation.
};

}  // namespace

void Execute(Database& database, std::span<StoreOp* const> ops, Deadline deadline) {
  Batch batch(ops);
  if (batch.empty()) return;
  Guarded([&] { batch.Run(database, deadline); },
          [&](const auto& settle) { batch.ForEachOpen(settle); });
  for (const std::vector<StoreOp*>& ops_of_one : batch.Apart()) {
    Execute(database, ops_of_one, deadline);
  }
}

void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline,
                  const std::function<std::optional<Change>(Unit&)>& decide) {
  Guarded(
      [&] {
        RunUntilUnraced(deadline, [&](bool again) {
          if (again) ResetResult(op);
          const auto unit = database.Begin(Access::kWrite, deadline);
          std::optional<Change> change = decide(*unit);
          if (!change || !change->IsDecided()) return;
          unit->Commit({&*change, 1});
          Settle(op, *change);
        });
      },
      [&](const auto& settle) { settle(op); });
}

}  // namespace doclock::locking
