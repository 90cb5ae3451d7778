#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "doclock/clock.h"
#include "sqlite/locks/stored_lock.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/schema/sqlite_collection.h"

namespace doclock::sqlite {

/// What a stored lock means now.
struct Verdict {
  bool live = false;                        ///< Somebody holds it.
  bool closed = false;                      ///< min_hold keeps everybody out.
  std::chrono::milliseconds lease_left{};   ///< Of a live lock.
  std::chrono::milliseconds closed_left{};  ///< Of a closed one.
  std::int64_t owner = 0;                   ///< Of a live lock, in doclock_owners.
  bool malformed = false;                   ///< A share is; then it is live.
  [[nodiscard]] bool free() const noexcept { return !live && !closed; }
};

/// Decides whether locks are live. Thread-safe.
class LeaseEvaluator {
 public:
  LeaseEvaluator(const ProcessCoordinator& coordinator, std::int64_t boot) noexcept
      : coordinator_(coordinator), boot_(boot) {}

  /// Of a lock that is not malformed, by its own columns.
  Verdict Of(const SqliteCollection& collection, const StoredLock& lock, TimePoint now) {
    return Of(collection.tag(), lock, now);
  }
  /// Of a share, whose `doc` is ShareNumber.
  Verdict OfShare(const SqliteCollection& collection, const StoredLock& share, TimePoint now) {
    return Of(collection.tag() ^ kSharesTag, share, now);
  }
  /// Of an intent.
  Verdict OfIntent(const SqliteCollection& collection, const StoredLock& intent, TimePoint now) {
    return Of(collection.tag() ^ kIntentsTag, intent, now);
  }

  /// What to store with times of now.
  [[nodiscard]] std::int64_t boot() const noexcept { return boot_; }
  /// Makes the stored times those of this boot: `now` becomes the last sign of life.
  void Rebase(StoredLock& lock, TimePoint now) const noexcept;

  /// The same for a lock that is over: its end, as far as known, becomes the stored time.
  void RebaseEnded(StoredLock& lock, TimePoint now) const noexcept;

  /// Makes `now` the end of the lease, as far as the lock's own row says; the time of the grant
  /// stays if it can be told.
  void EndLease(StoredLock& lock, TimePoint now) const noexcept;

  /// Were the lock's times read from our clock, in this boot?
  [[nodiscard]] bool IsComparable(const StoredLock& lock,
                                  std::chrono::nanoseconds now) const noexcept;

 private:
  /// A lock whose times cannot be compared with our clock, and since when we know it.
  struct Observation {
    Uuid id;
    std::chrono::nanoseconds last_sign;
    std::chrono::nanoseconds first_seen;
    std::chrono::nanoseconds useless;  ///< When it may be forgotten, since it is over for long.
  };
  struct Place {
    std::uint64_t collection;
    std::int64_t doc;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept {
      return static_cast<std::size_t>(
          place.collection ^ (static_cast<std::uint64_t>(place.doc) * 0x9E3779B97F4A7C15U));
    }
  };

  // Leases of another kind in the same collection are observed elsewhere.
  static constexpr std::uint64_t kSharesTag = 0x5348415245535348U;
  static constexpr std::uint64_t kIntentsTag = 0x494e54454e54494eU;

  Verdict Of(std::uint64_t tag, const StoredLock& lock, TimePoint now);
  std::chrono::nanoseconds FirstSeen(std::uint64_t tag, const StoredLock& lock,
                                     std::chrono::nanoseconds now);
  bool HasRoom(std::chrono::nanoseconds now);

  const ProcessCoordinator& coordinator_;
  std::int64_t boot_;
  std::mutex mutex_;
  std::unordered_map<Place, Observation, PlaceHash> observations_;
  std::chrono::nanoseconds next_tidying_{};
};

}  // namespace doclock::sqlite
