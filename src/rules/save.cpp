#include "rules/save.h"

#include <memory>

#include "rules/acquire.h"
#include "rules/queue.h"

namespace doclock::rules {
namespace {

bool IsExpected(const SaveOp& op, const LockState& state) noexcept {
  if (op.expected == kAnyVersion) return true;
  return op.expected == state.version && op.born == state.born;
}

void Conflict(SaveOp& op, const LockState& state) {
  op.status = OpStatus::kConflict;
  op.detail = std::make_unique<OpDetail>();
  op.detail->found_version = state.version;
}

}  // namespace

bool MaySave(SaveOp& op, const LockState* state, TimePoint now) {
  if (op.save == SaveKind::kInsert) {
    if (state != nullptr) Conflict(op, *state);
    return state == nullptr;
  }
  if (state == nullptr) {
    op.status = OpStatus::kMissing;
  } else if (state->IsLive(now)) {
    SetBusyByLease(op, *state, now);
  } else if (!IsExpected(op, *state)) {
    Conflict(op, *state);
  } else {
    return true;
  }
  return false;
}

bool Save(SaveOp& op, LockState& state, TimePoint now) {
  const bool had_lock = state.HasLockId();
  state.passed_on = {};
  op.version = ++state.version;
  op.status = OpStatus::kDone;
  if (op.save == SaveKind::kInsert) op.born = state.born;
  state.shares.clear();
  state.lock_id = Uuid{};
  if (op.save != SaveKind::kErase) PassOn(state, now);
  state.released = op.write_id;
  return had_lock || state.passed_on.done;
}

}  // namespace doclock::rules
