#include "rules/lock_state.h"

#include <algorithm>

namespace doclock::rules {

const Share* LockState::LiveShare(const Uuid& id, TimePoint now) const noexcept {
  if (!IsShared()) return nullptr;
  // From the youngest on, which mostly goes first.
  const auto found = std::find_if(shares.rbegin(), shares.rend(),
                                  [&](const Share& share) { return share.id == id; });
  return found != shares.rend() && found->lease.IsLive(now) ? &*found : nullptr;
}

}  // namespace doclock::rules
