#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "doclock/store.h"
#include "rules/lock_state.h"

namespace doclock::rules {

/// How an operation ends that the rules do not let be carried out.
struct Refusal {
  OpStatus status;
  std::unique_ptr<OpDetail> detail = nullptr;
};

/// Gives an operation the outcome of its refusal. Returns whether there is one.
inline bool Settle(StoreOp& op, std::optional<Refusal>&& refusal) noexcept {
  if (!refusal) return false;
  op.status = refusal->status;
  op.detail = std::move(refusal->detail);
  return true;
}

/// A lock is not available now: names its holder, and the longer of its lease and min_hold.
[[nodiscard]] Refusal Busy(const LockState& state, TimePoint now);

/// A live lock stands in the way of something that min_hold does not hinder.
[[nodiscard]] Refusal BusyByLease(const LockState& state, TimePoint now);

}  // namespace doclock::rules
