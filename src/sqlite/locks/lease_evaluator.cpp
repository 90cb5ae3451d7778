#include "sqlite/locks/lease_evaluator.h"

#include <algorithm>

namespace doclock::sqlite {
namespace {

using std::chrono::nanoseconds;

/// The most observations kept; each costs some 100 bytes. None is dropped while it is useful: with
/// more locks than these, a scan over all locks would make each wait from the start again, forever.
/// A lock that finds no room is observed as soon as there is some.
constexpr std::size_t kMaxObservations = 100'000;
/// How long an observation of an expired lock is kept, for clients that come and take the lock.
constexpr std::chrono::minutes kKnownToBeOver{1};
/// How often it may search for room, because each search visits all observations.
constexpr std::chrono::seconds kTidyingInterval{1};

}  // namespace

bool LeaseEvaluator::IsComparable(const LockColumns& lock, TimePoint now) const noexcept {
  // A time in the future was not read from this boot's clock, even if the row says so.
  return lock.boot == boot_ && lock.LastSign() <= now.time_since_epoch();
}

nanoseconds LeaseEvaluator::FirstSeen(std::uint64_t tag, const LockColumns& lock, nanoseconds now) {
  const std::lock_guard guard(mutex_);
  const nanoseconds left = std::max(lock.LeaseEnd(), lock.closed) - lock.LastSign();
  const Observation fresh{lock.id, lock.LastSign(), now, now + left + kKnownToBeOver};
  const Row row{tag, lock.doc};
  if (const auto at = observations_.find(row); at != observations_.end()) {
    Observation& known = at->second;
    if (known.id != fresh.id || known.last_sign != fresh.last_sign) known = fresh;
    return known.first_seen;
  }
  if (HasRoom(now)) observations_.emplace(row, fresh);
  return now;
}

bool LeaseEvaluator::HasRoom(nanoseconds now) {
  if (observations_.size() < kMaxObservations) return true;
  if (now < next_tidying_) return false;
  next_tidying_ = now + kTidyingInterval;
  std::erase_if(observations_, [&](const auto& each) { return each.second.useless <= now; });
  return observations_.size() < kMaxObservations;
}

nanoseconds LeaseEvaluator::ShiftOf(std::uint64_t tag, const LockColumns& lock, TimePoint now) {
  if (IsComparable(lock, now)) return nanoseconds(0);
  return FirstSeen(tag, lock, now.time_since_epoch()) - lock.LastSign();
}

rules::Lease LeaseEvaluator::LeaseOf(const LockColumns& lock, nanoseconds shift,
                                     TimePoint now) const noexcept {
  rules::Lease lease{TimePoint(lock.time + shift), lock.ttl, lock.slot};
  const rules::Lease renewed{TimePoint(lock.renewed + shift), lock.renewed_ttl, lock.slot};
  if (lock.lease_is_its && renewed.End() >= lease.End()) lease = renewed;
  if (lease.IsLive(now) && coordinator_.Look(lock.slot) == Liveness::kDead) lease.Expire(now);
  return lease;
}

rules::LockState LeaseEvaluator::LockOf(const SqliteCollection& collection, const LockColumns& lock,
                                        TimePoint now) {
  rules::LockState state;
  state.lock_id = lock.id;
  state.version = lock.version;
  state.fence = lock.fence;
  state.born = lock.born;
  state.released = lock.released;
  const bool closes = lock.closed > lock.time;
  nanoseconds shift{};
  if (state.HasLockId() || closes) shift = ShiftOf(collection.tag(), lock, now);
  state.granted = TimePoint(lock.time + shift);
  state.lease = {state.granted - lock.ttl, lock.ttl};
  if (state.HasLockId()) state.lease = LeaseOf(lock, shift, now);
  if (closes) state.closed_until = TimePoint(lock.closed + shift);
  return state;
}

rules::Lease LeaseEvaluator::ShareOf(const SqliteCollection& collection, const LockColumns& share,
                                     TimePoint now) {
  return LeaseOf(share, ShiftOf(collection.tag() ^ kSharesTag, share, now), now);
}

bool LeaseEvaluator::IsGone(const StoredEntry& stored, TimePoint now) const noexcept {
  if (stored.boot != boot_ || stored.since > now.time_since_epoch()) return true;
  return stored.entry.IsLive(now) && coordinator_.Look(stored.entry.instance) == Liveness::kDead;
}

}  // namespace doclock::sqlite
