#pragma once

#include <cstdint>

#include "doclock/store/store.h"
#include "doclock/time.h"

namespace doclock::detail {

/// A waiter's place in the store's queue (see AcquireOp). Used by the attempt or hand-over under
/// way for the waiter; else guarded by the shard's mutex.
struct QueueTicket {
  Uuid id{};  ///< The lock id of all its attempts; nil: it has made none.
  /// A grant from the queue under this id comes no earlier. It is when the last attempt was sent
  /// that placed the entry, or else the first attempt.
  TimePoint since{};
  bool entered = false;  ///< Did an attempt leave an entry?
  /// The document as that attempt left it. A grant from the queue comes later, and raises the
  /// version.
  Uuid born{};
  std::int64_t version = 0;
  bool seems_granted = false;  ///< A hint has told of a grant, and not all that is needed.

  /// May it be this waiter whom the hint means?
  [[nodiscard]] bool IsMeantBy(const GrantSeen& seen) const noexcept {
    return seen.lock_id.is_nil() ? entered : seen.lock_id == id;
  }
  /// Does a hint that means this waiter show a grant after its last entry, from which its lease
  /// counts? A late hint may tell of an earlier one, which is over. A document that another program
  /// made has no incarnation: it may be a new one.
  [[nodiscard]] bool IsSettledBy(const GrantSeen& seen) const noexcept {
    return seen.lock_id == id && seen.body && !born.is_nil() && seen.born == born &&
           seen.version > version;
  }
};

}  // namespace doclock::detail
