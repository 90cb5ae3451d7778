#include "locking/commit_frame.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "locking/database.h"
#include "locking/order.h"
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
  Guarded(run, [&](const auto& settle, bool) {
    ForEach(commit, [&](StoreOp& op) {
      op.MakePending();
      settle(op);
    });
  });
}

}  // namespace doclock::locking
