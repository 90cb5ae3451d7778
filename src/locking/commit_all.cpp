#include "locking/commit_all.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "doclock/errors.h"
#include "locking/decide.h"
#include "locking/order.h"
#include "locking/races.h"
#include "rules/fault.h"

namespace doclock::locking {
namespace {

/// Why no transaction takes the operation; null: it does.
const char* FaultInCommit(const StoreOp& op) {
  if (op.kind == OpKind::kWrite) {
    const auto& write = static_cast<const WriteOp&>(op);
    const bool plain = write.mode == LockMode::kExclusive && write.write != WriteKind::kLeave;
    return plain ? FaultOf(op) : "a transaction writes under exclusive locks";
  }
  return op.kind == OpKind::kSave ? FaultOf(op) : "a transaction takes writes only";
}

/// The operations of one commit, and their documents.
class Commitment {
 public:
  explicit Commitment(CommitOp& commit) : commit_(commit), sorted_(commit.ops.size()) {
    std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
    std::sort(sorted_.begin(), sorted_.end(), [&](std::size_t a, std::size_t b) {
      return StandsBefore(commit.ops[a], commit.ops[b]);
    });
  }

  /// Is an operation refused whatever is stored? Settles it.
  bool IsFaulty() {
    for (StoreOp* const op : commit_.ops) {
      if (const char* const fault = FaultInCommit(*op)) return Refuse(*op, fault);
    }
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      StoreOp& op = *commit_.ops[sorted_[i]];
      const bool repeats = !StandsBefore(commit_.ops[sorted_[i - 1]], &op);
      if (repeats) return Refuse(op, "a transaction writes each document once");
    }
    return false;
  }

  void Run(Database& database, Deadline deadline) {
    ForEach(&StoreOp::MakePending);
    commit_.thrown = nullptr;
    const auto unit = database.Begin(Access::kWriteAll, deadline);
    std::vector<Change> changes = Load(*unit);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      StoreOp& op = *commit_.ops[i];
      Decide(op, changes[i], *unit);
      if (op.status != OpStatus::kDone) return KeepOnly(op);
    }
    if (!Join(*unit)) return;
    unit->Commit(changes);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (changes[i].outcome == OpStatus::kPending || changes[i].outcome == OpStatus::kDone) {
        continue;
      }
      StoreOp& op = *commit_.ops[i];
      op.status = changes[i].outcome;
      op.detail = std::move(changes[i].detail);
      return KeepOnly(op);
    }
  }

  template <class F>
  void ForEach(const F& use) {
    for (StoreOp* const op : commit_.ops) std::invoke(use, *op);
  }

 private:
  static bool Refuse(StoreOp& op, const char* why) {
    op.Fail(Errc::kRefused, why);
    return true;
  }

  /// Loads all documents; returns them in the order of the operations.
  std::vector<Change> Load(Unit& unit) {
    std::vector<Change> sorted;
    sorted.reserve(sorted_.size());
    for (const std::size_t i : sorted_) sorted.emplace_back(*commit_.ops[i]);
    unit.Load(sorted);
    std::vector<std::size_t> place_of(sorted_.size());
    for (std::size_t i = 0; i < sorted_.size(); ++i) place_of[sorted_[i]] = i;
    std::vector<Change> given;
    given.reserve(sorted.size());
    for (const std::size_t place : place_of) given.push_back(std::move(sorted[place]));
    return given;
  }

  /// False: it threw, and nothing is to be stored.
  bool Join(Unit& unit) {
    if (!commit_.join) return true;
    void* const native = unit.Native();
    try {
      commit_.join(native);
      return true;
    } catch (...) {
      commit_.thrown = std::current_exception();
      ForEach(&StoreOp::MakePending);
      return false;
    }
  }

  /// One was refused, so the others are not stored.
  void KeepOnly(const StoreOp& refused) noexcept {
    ForEach([&](StoreOp& op) {
      if (&op != &refused) op.MakePending();
    });
  }

  CommitOp& commit_;
  std::vector<std::size_t> sorted_;  ///< The operations in the order of all clients.
};

}  // namespace

void CommitAll(Database& database, CommitOp& commit, Deadline deadline) {
  Commitment all(commit);
  if (!database.traits().transactions) {
    return all.ForEach(
        [](StoreOp& op) { op.Fail(Errc::kRefused, "this store has no transactions"); });
  }
  if (all.IsFaulty()) return;
  try {
    RunUntilUnraced(deadline, [&](bool) { all.Run(database, deadline); });
  } catch (const InDoubtException& error) {
    all.ForEach([&](StoreOp& op) { op.Doubt(error.what()); });
  } catch (const Error& error) {
    all.ForEach([&](StoreOp& op) { op.Fail(error.errc(), error.what()); });
  } catch (...) {
    all.ForEach(&StoreOp::MakePending);
    throw;
  }
}

}  // namespace doclock::locking
