#include "rules/save.h"

#include <memory>

#include "rules/queue.h"

namespace doclock::rules {
namespace {

bool IsExpected(const SaveOp& op, const LockState& state) noexcept {
  if (op.request.expected == kAnyVersion) return true;
  return op.request.expected == state.version && op.request.born == state.born;
}

Refusal Conflict(const LockState& state) {
  Refusal conflict{OpStatus::kConflict, std::make_unique<OpDetail>()};
  conflict.detail->found_version = state.version;
  return conflict;
}

}  // namespace

std::optional<Refusal> WhyNotSave(const SaveOp& op, const LockState* state, TimePoint now) {
  const bool inserts = op.request.save == SaveKind::kInsert;
  if (state == nullptr) return inserts ? std::nullopt : std::optional(Refusal{OpStatus::kMissing});
  if (inserts) return Conflict(*state);
  if (op.request.Writes() && state->IsLive(now)) return BusyByLease(*state, now);
  if (!IsExpected(op, *state)) return Conflict(*state);
  return {};
}

bool Save(SaveOp& op, LockState& state, TimePoint now) {
  const bool had_lock = state.HasLockId();
  state.passed_on = {};
  state.RaiseVersion();
  op.result.version = state.version;
  op.status = OpStatus::kDone;
  if (op.request.save == SaveKind::kInsert) op.result.born = state.born;
  state.shares.clear();
  state.lock_id = Uuid{};
  if (op.request.save != SaveKind::kErase) PassOn(state, now);
  state.released = op.request.write_id;
  return had_lock || state.passed_on.done;
}

}  // namespace doclock::rules
