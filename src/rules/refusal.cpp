#include "rules/refusal.h"

#include <algorithm>
#include <chrono>

namespace doclock::rules {

Refusal BusyByLease(const LockState& state, TimePoint now) {
  Refusal busy{OpStatus::kBusy, std::make_unique<OpDetail>()};
  busy.detail->holder = state.Holder();
  busy.detail->remaining = state.lease.Left(now);
  return busy;
}

Refusal Busy(const LockState& state, TimePoint now) {
  const bool live = state.IsLive(now);
  Refusal busy =
      live ? BusyByLease(state, now) : Refusal{OpStatus::kBusy, std::make_unique<OpDetail>()};
  busy.detail->kept_closed = !live && state.IsClosed(now);
  auto& remaining = busy.detail->remaining;
  remaining =
      std::max(remaining.value_or(std::chrono::milliseconds(0)), RoundUp(state.closed_until - now));
  return busy;
}

}  // namespace doclock::rules
