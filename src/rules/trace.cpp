#include "rules/trace.h"

namespace doclock {

Trace TraceOf(const WriteOp& write, const ReadOp& look) noexcept {
  if (look.status == OpStatus::kMissing) {
    // No other client may erase under a live lock; and the document is erased, as requested.
    return write.request.write == WriteKind::kErase ? Trace::kWritten : Trace::kUnknown;
  }
  if (write.request.next != nullptr && look.result.lock_id == write.request.next->lock_id)
    return Trace::kWritten;
  if (write.request.write == WriteKind::kRelease &&
      look.result.released == write.request.ReleaseId()) {
    return Trace::kWritten;
  }
  if (look.result.lock_id != write.request.lock_id) return Trace::kUnknown;
  // Under its lock only the holder moves the version. What is further on than this write could move
  // it was written by another program, and proves nothing.
  if (write.request.expected == kAnyVersion || look.result.version == write.request.expected)
    return Trace::kUnmoved;
  const bool written = write.request.write == WriteKind::kCheckpoint &&
                       (look.result.version == VersionLeft(write) ||
                        look.result.version == write.request.expected + 1);
  return written ? Trace::kWritten : Trace::kUnknown;
}

Trace TraceOf(const SaveOp& save, const ReadOp& look) noexcept {
  if (!save.request.Writes()) return Trace::kUnknown;
  if (look.status == OpStatus::kMissing) {
    return save.request.save == SaveKind::kErase ? Trace::kWritten : Trace::kUnknown;
  }
  if (look.result.released == save.request.write_id) return Trace::kWritten;
  const bool unmoved =
      save.request.save != SaveKind::kInsert && save.request.expected != kAnyVersion &&
      look.result.version == save.request.expected && look.result.born == save.request.born;
  return unmoved ? Trace::kUnmoved : Trace::kUnknown;
}

}  // namespace doclock
