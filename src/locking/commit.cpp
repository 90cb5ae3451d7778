#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "locking/decide.h"
#include "locking/program.h"
#include "rules/fault.h"

namespace doclock::locking {
namespace {

template <class F>
void ForEach(const CommitOp& commit, const F& use) {
  for (StoreOp* const op : commit.ops) std::invoke(use, *op);
}

/// Why no transaction takes the operation; null: it does.
const char* FaultInCommit(const StoreOp& op) {
  if (op.kind == OpKind::kWrite) {
    const auto& write = static_cast<const WriteOp&>(op);
    const bool plain =
        write.request.mode == LockMode::kExclusive && write.request.write != WriteKind::kLeave;
    return plain ? FaultOf(op) : "a transaction writes under exclusive locks";
  }
  if (op.kind != OpKind::kSave) return "a transaction takes writes only";
  const auto& save = static_cast<const SaveOp&>(op);
  if (save.request.Writes()) return FaultOf(save);
  return save.request.expected == kAnyVersion ? "an expectation needs a version" : nullptr;
}

bool Refuse(StoreOp& op, const char* why) {
  op.Fail(Errc::kRefused, why);
  return true;
}

}  // namespace

std::vector<std::size_t> PlacesInOrder(const CommitOp& commit) {
  std::vector<std::size_t> sorted(commit.ops.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
    return StandsBefore(commit.ops[a], commit.ops[b]);
  });
  return sorted;
}

bool RefuseFaulty(const CommitOp& commit, std::span<const std::size_t> sorted) {
  for (StoreOp* const op : commit.ops) {
    if (const char* const fault = FaultInCommit(*op)) return Refuse(*op, fault);
  }
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    StoreOp& op = *commit.ops[sorted[i]];
    const bool repeats = !StandsBefore(commit.ops[sorted[i - 1]], &op);
    if (repeats) return Refuse(op, "a transaction writes each document once");
  }
  return false;
}

void Reopen(CommitOp& commit) noexcept {
  ForEach(commit, &StoreOp::MakePending);
  commit.thrown = nullptr;
}

void KeepOnly(const StoreOp& refused, const CommitOp& commit) noexcept {
  ForEach(commit, [&](StoreOp& op) {
    if (&op != &refused) op.MakePending();
  });
}

bool Join(CommitOp& commit, void* native) {
  if (!commit.join) return true;
  try {
    commit.join(native);
    return true;
  } catch (const Raced&) {  // the connection was lost around it, say
    throw;
  } catch (...) {
    commit.thrown = std::current_exception();
    ForEach(commit, &StoreOp::MakePending);
    return false;
  }
}

void RunGuarded(const CommitOp& commit, const std::function<void()>& run) {
  // In doubt, the version that was decided is in the result: it proves the commit.
  Guarded(run, [&](const auto& settle, bool) { ForEach(commit, settle); });
}

namespace {

/// Loads all documents; returns them in the order of the operations.
std::vector<Document> Load(Unit& unit, const CommitOp& commit,
                           const std::vector<std::size_t>& order) {
  std::vector<Document> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.emplace_back(Asked(*commit.ops[i]));
  unit.Load(sorted);
  std::vector<std::size_t> place_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place_of[order[i]] = i;
  std::vector<Document> given;
  given.reserve(sorted.size());
  for (const std::size_t place : place_of) given.push_back(std::move(sorted[place]));
  return given;
}

void RunOnce(Unit& unit, CommitOp& commit, const std::vector<std::size_t>& order) {
  Reopen(commit);
  std::vector<Document> documents = Load(unit, commit, order);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    StoreOp& op = *commit.ops[i];
    Decide(op, documents[i], unit);
    if (op.status == OpStatus::kDone) continue;
    return KeepOnly(op, commit);
  }
  if (commit.join && !Join(commit, unit.Native())) return;
  unit.Commit(documents);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const OpStatus outcome = documents[i].outcome.status;
    if (outcome == OpStatus::kPending || outcome == OpStatus::kDone) continue;
    StoreOp& op = *commit.ops[i];
    op.status = outcome;
    op.detail = std::move(documents[i].outcome.detail);
    return KeepOnly(op, commit);
  }
}

}  // namespace

void CommitAll(Database& database, CommitOp& commit, Deadline deadline) {
  if (!database.traits().transactions) {
    for (StoreOp* const op : commit.ops) op->Fail(Errc::kRefused, "this store has no transactions");
    return;
  }
  const std::vector<std::size_t> order = PlacesInOrder(commit);
  if (RefuseFaulty(commit, order)) return;
  RunGuarded(commit, [&] {
    RunUnit(database, Access::kWriteAll, deadline,
            [&](Unit& unit) { RunOnce(unit, commit, order); });
  });
}

}  // namespace doclock::locking
