#pragma once

#include <cstdint>

#include "doclock/export.h"
#include "doclock/store.h"

namespace doclock::rules {

/// What an operation asks for, as far as the operation alone tells it. A database may carry out
/// operations of some kinds without loading their documents, each in one guarded statement. That
/// does what the rules would do, or nothing.
enum class Plain : std::uint8_t {
  kNone,             ///< Only the document tells what to do: a read, a waiter that leaves.
  kTakeFree,         ///< An exclusive lock, without an entry in the queue and without min_hold.
  kTakeAndClose,     ///< As kTakeFree, with min_hold.
  kTakeShare,        ///< A share, without an entry in the queue.
  kJoinQueue,        ///< A lock or a share, else an entry in the queue.
  kRenew,            ///< The renewal of an exclusive lock.
  kRenewShare,       ///< The renewal of a share.
  kRelease,          ///< The release of an exclusive lock. The body stays.
  kWriteAndRelease,  ///< As kRelease, with a new body.
  kCheckpoint,       ///< A new body and a new lease.
  kHandOver,         ///< A hand-over without min_hold; the body stays, or there is a new one.
  kOtherWrite,       ///< Any other write under an exclusive lock: one that merges, say.
  kEndShare,         ///< The release of a share.
  kSave,             ///< An insert, or a save of a known version.
  kEraseAny,         ///< An erasure without a lock, whatever the version.
};

/// Returns the kind of a request that is valid (FaultOf).
[[nodiscard]] DOCLOCK_EXPORT Plain PlainOf(const StoreOp& op) noexcept;

/// An operation and its kind.
struct PlainOp {
  Plain kind;
  StoreOp* op;
};

}  // namespace doclock::rules
