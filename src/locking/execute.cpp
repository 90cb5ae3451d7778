#include "locking/execute.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "doclock/errors.h"
#include "locking/decide.h"
#include "rules/fault.h"

namespace doclock::locking {
namespace {

/// Gives an operation the outcome of its change.
void Settle(StoreOp& op, const Change& change) {
  if (!change.IsDecided() || change.outcome == OpStatus::kDone) return;
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

/// Has the operation no result, or one that may not be stored?
bool IsOpen(const StoreOp& op, const Change& change) noexcept {
  return op.status == OpStatus::kPending || change.IsDecided();
}

/// As a Batch of one, without its lists.
void ExecuteOne(Database& database, StoreOp& op, Deadline deadline) {
  if (const char* const fault = FaultOf(op)) return op.Fail(Errc::kRefused, fault);
  Change change(op);  // what it discards goes after the unit, which keeps others waiting
  const auto run = [&] {
    const bool reads = op.kind == OpKind::kRead;
    const auto unit = database.Begin(reads ? Access::kRead : Access::kWrite, deadline);
    unit->Load({&change, 1});
    Decide(op, change, *unit);
    if (!change.IsDecided()) return;
    unit->Commit({&change, 1});
    Settle(op, change);
  };
  Guarded(run, [&](const auto& settle) {
    if (IsOpen(op, change)) settle(op);
  });
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

  void Run(Unit& unit) {
    unit.Load(changes_);
    for (std::size_t i = 0; i < ops_.size(); ++i) Decide(*ops_[i], changes_[of_[i]], unit);
    const bool decided = std::any_of(changes_.begin(), changes_.end(),
                                     [](const Change& change) { return change.IsDecided(); });
    if (!decided) return;
    unit.Commit(changes_);
    for (std::size_t i = 0; i < ops_.size(); ++i) Settle(*ops_[i], changes_[of_[i]]);
  }

  /// Calls `settle` with the operations that have no result, or one that may not be stored.
  template <class F>
  void ForEachOpen(const F& settle) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (IsOpen(*ops_[i], changes_[of_[i]])) settle(*ops_[i]);
    }
  }

 private:
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
  if (ops.size() == 1 || database.traits().immediate) {
    for (StoreOp* const op : ops) ExecuteOne(database, *op, deadline);
    return;
  }
  Batch batch(ops);
  if (batch.empty()) return;
  Guarded([&] { batch.Run(*database.Begin(batch.access(), deadline)); },
          [&](const auto& settle) { batch.ForEachOpen(settle); });
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
      [&](const auto& settle) { settle(op); });
}

}  // namespace doclock::locking
