#pragma once

#include <cstdint>

#include "doclock/store.h"

namespace doclock::detail {

/// What a look at a document shows of a write whose answer was lost.
enum class Trace : std::uint8_t {
  kWritten,  ///< It took effect.
  kUnmoved,  ///< Not yet, or not at all. The same write again cannot take effect twice.
  kNever,    ///< Nor will it: the document has moved on, under the lock that it was to end.
  kUnknown,  ///< The look proves nothing.
};

/// Of an exclusive lock. A checkpoint is proved by its version under its own lock; a release by its
/// mark (lockReleased) or the next holder's id; an erase by the document's absence. A higher
/// version alone proves nothing: the lock may have been broken. @param look is kDone or kMissing
Trace TraceOf(const WriteOp& write, const ReadOp& look) noexcept;

/// Of a write without a lock, which leaves its own id in the document (lockReleased): only that
/// proves it, or of an erasure that there is no document. An insert is never unmoved: it could
/// bring back a document that was erased meanwhile. An expected document says nothing.
Trace TraceOf(const SaveOp& save, const ReadOp& look) noexcept;

}  // namespace doclock::detail
