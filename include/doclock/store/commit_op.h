#pragma once

#include <exception>
#include <functional>
#include <span>

#include "doclock/store/operation.h"

namespace doclock {

/// Writes of several documents that are stored together, or none of them. The caller fills in the
/// request, the store the result.
///
/// - All are stored: each operation is kDone.
/// - One is refused: it has its result (kLost, kConflict, ...), and the others are kPending.
/// - `join` threw: all are kPending, and `thrown` holds the exception.
/// - The store failed as a whole: each operation is kFailed, and nothing is stored.
/// - The outcome is unknown: each operation is kInDoubt. Either all are stored, or none is.
struct CommitOp {
  /// At least one WriteOp (neither of a share nor a kLeave) or SaveOp, each of another
  /// document; anything else is kFailed (kRefused). They take effect in this order: a unique value
  /// that one gives up may be taken by a later one.
  std::span<StoreOp* const> ops;
  /// The user's own work in the same transaction, or none. It is given the database's own
  /// handle (StoreTraits::native). It is called when no operation was refused, before they are
  /// written, and again if another client was quicker.
  std::function<void(void* native)> join = {};
  std::exception_ptr thrown = nullptr;  ///< What `join` threw; set by the store.
};

}  // namespace doclock
