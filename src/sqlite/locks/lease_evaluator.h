#pragma once

#include <chrono>
#include <cstdint>

#include "doclock/clock.h"
#include "rules/lock_state.h"
#include "sqlite/locks/lock_columns.h"
#include "sqlite/locks/queue.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// Translates stored locks for the lock core: their times become those of this boot's clock, and
/// the lease of a dead process is over. It decides nothing.
class LeaseEvaluator {
 public:
  LeaseEvaluator(const ProcessCoordinator& coordinator, std::int64_t boot) noexcept
      : coordinator_(coordinator), boot_(boot) {}

  /// Of a lock that is not malformed, what its own columns say: without shares, owner and group.
  /// The lease of an unheld lock ended when the lock was freed.
  [[nodiscard]] rules::LockState LockOf(const LockColumns& lock, TimePoint now) const noexcept;
  /// The lease of a share, whose `doc` is ShareNumber.
  [[nodiscard]] rules::Lease ShareOf(const LockColumns& share, TimePoint now) const noexcept;

  /// Is the waiter that left this entry gone: is its process dead, or was it in an earlier boot?
  [[nodiscard]] bool IsGone(const StoredEntry& stored, TimePoint now) const noexcept;

  /// What to store with times of now.
  [[nodiscard]] std::int64_t boot() const noexcept { return boot_; }
  /// Were the lock's times read from our clock, in this boot? Others count from the boot.
  [[nodiscard]] bool IsComparable(const LockColumns& lock, TimePoint now) const noexcept;

 private:
  [[nodiscard]] std::chrono::nanoseconds ShiftOf(const LockColumns& lock,
                                                 TimePoint now) const noexcept;
  [[nodiscard]] rules::Lease LeaseOf(const LockColumns& lock, std::chrono::nanoseconds shift,
                                     TimePoint now) const noexcept;

  const ProcessCoordinator& coordinator_;
  std::int64_t boot_;
};

}  // namespace doclock::sqlite
