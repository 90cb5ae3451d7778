#pragma once

#include <cstdint>

#include "doclock/export.h"
#include "doclock/store/store.h"

namespace doclock {

/// What a document shows of a write whose answer was lost.
enum class Trace : std::uint8_t {
  kWritten,  ///< It took effect.
  kUnmoved,  ///< Not yet, or not at all. The same write again cannot take effect twice.
  kNever,    ///< Nor will it: the document has moved on, under the lock that it was to end.
  kUnknown,  ///< The document proves nothing.
};

/// Returns what a document shows of a write under an exclusive lock. A checkpoint is proved by its
/// version under its own lock; a release by its mark (lockReleased) or the next holder's id; an
/// erase by the document's absence. A higher version alone proves nothing: the lock may have been
/// broken. @param look is kDone or kMissing
[[nodiscard]] DOCLOCK_EXPORT Trace TraceOf(const WriteOp& write, const ReadOp& look) noexcept;

/// Returns what a document shows of a write without a lock, which leaves its own id there
/// (lockReleased): only that proves it, or of an erasure that there is no document. An insert is
/// never unmoved: it could bring back a document that was erased meanwhile. Of a document that is
/// only expected nothing is shown.
[[nodiscard]] DOCLOCK_EXPORT Trace TraceOf(const SaveOp& save, const ReadOp& look) noexcept;

/// The version that a write in doubt has left, if it took effect.
inline std::int64_t VersionLeft(const WriteOp& op) noexcept {
  return op.result.version != 0 ? op.result.version : op.request.expected + 1;
}
/// See above.
inline std::int64_t VersionLeft(const SaveOp& op) noexcept {
  if (op.result.version != 0) return op.result.version;
  if (!op.request.Writes()) return op.request.expected;
  return op.request.save == SaveKind::kInsert ? 1 : op.request.expected + 1;
}

}  // namespace doclock
