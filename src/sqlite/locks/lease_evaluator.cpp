#include "sqlite/locks/lease_evaluator.h"

namespace doclock::sqlite {
namespace {

using std::chrono::nanoseconds;

/// A time so far ahead was not read from this boot's clock, even if the row says so.
constexpr std::chrono::minutes kAhead{1};

}  // namespace

bool LeaseEvaluator::IsComparable(const LockColumns& lock, TimePoint now) const noexcept {
  return lock.boot == boot_ && lock.LastSign() <= now.time_since_epoch() + kAhead;
}

nanoseconds LeaseEvaluator::ShiftOf(const LockColumns& lock, TimePoint now) const noexcept {
  return IsComparable(lock, now) ? nanoseconds(0) : -lock.LastSign();
}

rules::Lease LeaseEvaluator::LeaseOf(const LockColumns& lock, nanoseconds shift,
                                     TimePoint now) const noexcept {
  rules::Lease lease{TimePoint(lock.time + shift), lock.ttl, lock.slot};
  const rules::Lease renewed{TimePoint(lock.renewed + shift), lock.renewed_ttl, lock.slot};
  if (lock.lease_is_its && renewed.End() >= lease.End()) lease = renewed;
  if (lease.IsLive(now) && coordinator_.Look(lock.slot) == Liveness::kDead) lease.Expire(now);
  return lease;
}

rules::LockState LeaseEvaluator::LockOf(const LockColumns& lock, TimePoint now) const noexcept {
  rules::LockState state;
  state.lock_id = lock.id;
  state.version = lock.version;
  state.fence = lock.fence;
  state.born = lock.born;
  state.released = lock.released;
  const bool closes = lock.closed > lock.time;
  nanoseconds shift{};
  if (state.HasLockId() || closes) shift = ShiftOf(lock, now);
  state.granted = TimePoint(lock.time + shift);
  state.lease = {state.granted - lock.ttl, lock.ttl};
  if (state.HasLockId()) state.lease = LeaseOf(lock, shift, now);
  if (closes) state.closed_until = TimePoint(lock.closed + shift);
  return state;
}

rules::Lease LeaseEvaluator::ShareOf(const LockColumns& share, TimePoint now) const noexcept {
  return LeaseOf(share, ShiftOf(share, now), now);
}

bool LeaseEvaluator::IsGone(const StoredEntry& stored, TimePoint now) const noexcept {
  if (stored.boot != boot_ || stored.since > now.time_since_epoch()) return true;
  return stored.entry.IsLive(now) && coordinator_.Look(stored.entry.instance) == Liveness::kDead;
}

}  // namespace doclock::sqlite
