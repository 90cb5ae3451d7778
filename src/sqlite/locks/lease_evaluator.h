#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "doclock/clock.h"
#include "rules/lock_state.h"
#include "sqlite/locks/lock_columns.h"
#include "sqlite/locks/queue.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/schema/sqlite_collection.h"

namespace doclock::sqlite {

/// Translates stored locks for the lock core: their times become those of this boot's clock, and
/// the lease of a dead process is over. It decides nothing. Thread-safe.
class LeaseEvaluator {
 public:
  LeaseEvaluator(const ProcessCoordinator& coordinator, std::int64_t boot) noexcept
      : coordinator_(coordinator), boot_(boot) {}

  /// Of a lock that is not malformed, what its own columns say: without shares, owner and group.
  /// The lease of an unheld lock ended when the lock was freed.
  [[nodiscard]] rules::LockState LockOf(const SqliteCollection& collection, const LockColumns& lock,
                                        TimePoint now);
  /// The lease of a share, whose `doc` is ShareNumber.
  [[nodiscard]] rules::Lease ShareOf(const SqliteCollection& collection, const LockColumns& share,
                                     TimePoint now);

  /// Is the waiter that left this entry gone: is its process dead, or was it in an earlier boot?
  [[nodiscard]] bool IsGone(const StoredEntry& stored, TimePoint now) const noexcept;

  /// What to store with times of now.
  [[nodiscard]] std::int64_t boot() const noexcept { return boot_; }
  /// Were the lock's times read from our clock, in this boot?
  [[nodiscard]] bool IsComparable(const LockColumns& lock, TimePoint now) const noexcept;

 private:
  /// A lock whose times cannot be compared with our clock, and since when we know it.
  struct Observation {
    Uuid id;
    std::chrono::nanoseconds last_sign;
    std::chrono::nanoseconds first_seen;
    std::chrono::nanoseconds useless;  ///< When it may be forgotten, since it is over for long.
  };
  struct Row {
    std::uint64_t collection;
    std::int64_t doc;
    friend bool operator==(const Row&, const Row&) = default;
  };
  struct RowHash {
    std::size_t operator()(const Row& row) const noexcept {
      return static_cast<std::size_t>(row.collection ^
                                      (static_cast<std::uint64_t>(row.doc) * 0x9E3779B97F4A7C15U));
    }
  };

  // Leases of another kind in the same collection are observed elsewhere.
  static constexpr std::uint64_t kSharesTag = 0x5348415245535348U;

  /// The difference between this boot's clock and the lock's times. Times that cannot be compared
  /// count from when they were first seen.
  std::chrono::nanoseconds ShiftOf(std::uint64_t tag, const LockColumns& lock, TimePoint now);
  [[nodiscard]] rules::Lease LeaseOf(const LockColumns& lock, std::chrono::nanoseconds shift,
                                     TimePoint now) const noexcept;
  std::chrono::nanoseconds FirstSeen(std::uint64_t tag, const LockColumns& lock,
                                     std::chrono::nanoseconds now);
  bool HasRoom(std::chrono::nanoseconds now);

  const ProcessCoordinator& coordinator_;
  std::int64_t boot_;
  std::mutex mutex_;
  std::unordered_map<Row, Observation, RowHash> observations_;
  std::chrono::nanoseconds next_tidying_{};
};

}  // namespace doclock::sqlite
