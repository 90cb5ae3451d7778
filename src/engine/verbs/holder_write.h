#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/procedures/held_write.h"
#include "engine/verbs/writing_lease.h"

namespace doclock::detail {

/// How a handle ends that makes this write. @param body the new one
Ending EndingOf(const Lease& lease, WriteKind kind, const Body& body) noexcept;

/// One write of a holder, and what goes with it: the hand-over to a waiter of this process, and
/// what the observer is told.
class HolderWrite {
 public:
  /// `mark`: see WaitTable::BeginRelease.
  HolderWrite(WritingLease writing, WriteKind kind, const Body& body, bool mark);

  [[nodiscard]] HeldWrite& held() noexcept { return held_; }
  [[nodiscard]] const HeldWrite& held() const noexcept { return held_; }
  /// The write was sent, and will not be finished.
  void Doubt() noexcept { writing_.Doubt(); }
  /// `held()` has moved the lease on.
  void Finish(bool failed) noexcept;

 private:
  /// Null where memory runs out too: then the lock is given back, and the waiter asks for it.
  LeasePtr GrantToNext() noexcept;

  const WriteKind kind_;
  const LeasePtr lease_;
  Engine& engine_;
  const Ending ending_;
  const std::shared_ptr<void> background_;
  WritingLease writing_;
  HeldWrite held_;
  WaitTable::Release release_;
};

}  // namespace doclock::detail
