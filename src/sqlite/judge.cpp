#include "sqlite/judge.h"

#include <algorithm>

namespace doclock::sqlite {
namespace {

using std::chrono::nanoseconds;

/// Observations that are kept; each costs some 100 bytes. Beyond, the oldest knowledge goes, which
/// only makes somebody wait for one more lease.
constexpr std::size_t kMaxObservations = 100'000;

/// Rounded up: whoever waits so long finds it over.
std::chrono::milliseconds Left(nanoseconds rest) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(rest);
}

}  // namespace

bool Judge::IsComparable(const StoredLock& lock, nanoseconds now) const noexcept {
  // A time to come was not read from our clock, whatever the row says.
  return lock.boot == boot_ && lock.LastSign() <= now;
}

nanoseconds Judge::FirstSeen(std::uint64_t tag, const StoredLock& lock, nanoseconds now) {
  const std::lock_guard guard(mutex_);
  if (observations_.size() >= kMaxObservations) observations_.clear();
  const Observation fresh{lock.id, lock.LastSign(), now};
  const auto [at, added] = observations_.try_emplace(Place{tag, lock.doc}, fresh);
  Observation& known = at->second;
  if (!added && (known.id != fresh.id || known.last_sign != fresh.last_sign)) known = fresh;
  return known.first_seen;
}

Verdict Judge::Of(std::uint64_t tag, const StoredLock& lock, TimePoint time) {
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
  if (has_id && now < end && gate_.Look(lock.slot) != Liveness::kDead) {
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

void Judge::Rebase(StoredLock& lock, TimePoint time) const noexcept {
  const nanoseconds now = time.time_since_epoch();
  if (!IsComparable(lock, now)) {
    const nanoseconds closed_for = std::max(lock.closed - lock.LastSign(), nanoseconds(0));
    lock.closed = closed_for.count() > 0 ? now + closed_for : nanoseconds(0);
  }
  lock.boot = boot_;
  lock.time = now;
}

}  // namespace doclock::sqlite
