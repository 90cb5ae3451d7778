#pragma once

#include "doclock/clock.h"
#include "doclock/store.h"

namespace doclock::detail {

/// A waiter's place in the store's queue (see AcquireOp). Used by the attempt or hand-over under
/// way for the waiter; else guarded by the shard's mutex.
struct QueueTicket {
  Uuid id{};  ///< The lock id of all its attempts; nil: it has made none.
  /// A grant from the queue under this id comes no earlier. It is when the last attempt was sent
  /// that placed the entry, or else the first attempt.
  TimePoint since{};
  bool entered = false;  ///< Did an attempt leave an entry?
};

}  // namespace doclock::detail
