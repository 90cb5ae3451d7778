#include "locking/commit_all.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "locking/commit_frame.h"
#include "locking/decide.h"
#include "locking/races.h"

namespace doclock::locking {
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
