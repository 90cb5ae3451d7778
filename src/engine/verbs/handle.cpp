/// What a handle tells of its lock.

#include <algorithm>

#include "engine/engine.h"

namespace doclock::detail {

const Key& LeaseKey(const Lease& lease) noexcept { return lease.key; }
const Uuid& LeaseLockId(const Lease& lease) noexcept { return lease.lock_id; }
std::int64_t LeaseFence(const Lease& lease) noexcept { return lease.fence; }
std::int64_t LeaseVersion(const Lease& lease) noexcept { return lease.version; }
Body LeaseBody(const Lease& lease) { return lease.body; }

std::chrono::system_clock::time_point LeaseTime(const Lease& lease) noexcept {
  return std::chrono::system_clock::now() -
         std::chrono::duration_cast<std::chrono::system_clock::duration>(lease.engine->Now() -
                                                                         lease.granted);
}

bool LeaseHeld(const Lease& lease) noexcept {
  const Phase phase = lease.phase();
  return (phase == Phase::kHeld || phase == Phase::kWriting) && !lease.lost() &&
         lease.engine->ours() && !lease.engine->closed() && lease.engine->Now() < lease.deadline();
}

std::chrono::nanoseconds LeaseRemaining(const Lease& lease) noexcept {
  if (!LeaseHeld(lease)) return {};
  return std::max(lease.deadline() - lease.engine->Now(), std::chrono::nanoseconds(0));
}

std::stop_token LeaseLost(const LeasePtr& lease) { return lease->LostToken(); }

}  // namespace doclock::detail
