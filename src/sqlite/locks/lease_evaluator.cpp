#include "sqlite/locks/lease_evaluator.h"

#include <algorithm>

#include "sqlite/db/unix_time.h"

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

/// Rounded up: a caller that waits this long finds it over.
std::chrono::milliseconds Left(nanoseconds rest) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(rest);
}

}  // namespace

bool LeaseEvaluator::IsComparable(const StoredLock& lock, nanoseconds now) const noexcept {
  // A time in the future was not read from this boot's clock, even if the row says so.
  return lock.boot == boot_ && lock.LastSign() <= now;
}

nanoseconds LeaseEvaluator::FirstSeen(std::uint64_t tag, const StoredLock& lock, nanoseconds now) {
  const std::lock_guard guard(mutex_);
  const nanoseconds left = std::max(lock.LeaseEnd(), lock.closed) - lock.LastSign();
  const Observation fresh{lock.id, lock.LastSign(), now, now + left + kKnownToBeOver};
  const Place place{tag, lock.doc};
  if (const auto at = observations_.find(place); at != observations_.end()) {
    Observation& known = at->second;
    if (known.id != fresh.id || known.last_sign != fresh.last_sign) known = fresh;
    return known.first_seen;
  }
  if (HasRoom(now)) observations_.emplace(place, fresh);
  return now;
}

bool LeaseEvaluator::HasRoom(nanoseconds now) {
  if (observations_.size() < kMaxObservations) return true;
  if (now < next_tidying_) return false;
  next_tidying_ = now + kTidyingInterval;
  std::erase_if(observations_, [&](const auto& each) { return each.second.useless <= now; });
  return observations_.size() < kMaxObservations;
}

Verdict LeaseEvaluator::Of(std::uint64_t tag, const StoredLock& lock, TimePoint time) {
  const nanoseconds now = time.time_since_epoch();
  const bool has_id = !lock.id.is_nil();
  const bool may_be_closed = lock.closed > lock.time;
  Verdict verdict;
  if (!has_id && !may_be_closed) return verdict;
  // Times that cannot be compared count from when they were first seen.
  const bool comparable = IsComparable(lock, now);
  const nanoseconds shift =
      comparable ? nanoseconds(0) : FirstSeen(tag, lock, now) - lock.LastSign();
  const nanoseconds end = lock.LeaseEnd() + shift;
  if (has_id && now < end && coordinator_.Look(lock.slot) != Liveness::kDead) {
    verdict.live = true;
    verdict.lease_left = Left(end - now);
    verdict.owner = lock.owner;
  }
  if (may_be_closed && now < lock.closed + shift) {
    verdict.closed = true;
    verdict.closed_left = Left(lock.closed + shift - now);
  }
  return verdict;
}

void LeaseEvaluator::Rebase(StoredLock& lock, TimePoint time) const noexcept {
  const nanoseconds now = time.time_since_epoch();
  if (!IsComparable(lock, now)) {
    const nanoseconds closed_for = std::max(lock.closed - lock.LastSign(), nanoseconds(0));
    lock.closed = closed_for.count() > 0 ? now + closed_for : nanoseconds(0);
  }
  lock.boot = boot_;
  lock.time = now;
  lock.wall = UnixTime();
}

void LeaseEvaluator::RebaseEnded(StoredLock& lock, TimePoint time) const noexcept {
  const nanoseconds now = time.time_since_epoch();
  const nanoseconds end = IsComparable(lock, now) ? std::min(lock.LeaseEnd(), now) : now;
  Rebase(lock, time);
  lock.time = end;
  lock.wall -= std::chrono::floor<std::chrono::seconds>(now - end).count();
}

void LeaseEvaluator::EndLease(StoredLock& lock, TimePoint time) const noexcept {
  const nanoseconds now = time.time_since_epoch();
  if (!IsComparable(lock, now)) Rebase(lock, time);
  lock.ttl = std::min(kLongestTtl, std::chrono::floor<std::chrono::milliseconds>(now - lock.time));
}

}  // namespace doclock::sqlite
