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
  Refusal busy{OpStatus::kBusy, nullptr};
  if (state.IsLive(now)) {
    busy = BusyByLease(state, now);
    if (!state.IsClosed(now)) return busy;
  } else {
    busy.detail = std::make_unique<OpDetail>();
    busy.detail->kept_closed = state.IsClosed(now);
  }
  auto& remaining = busy.detail->remaining;
  remaining =
      std::max(remaining.value_or(std::chrono::milliseconds(0)), RoundUp(state.closed_until - now));
  return busy;
}

}  // namespace doclock::rules
