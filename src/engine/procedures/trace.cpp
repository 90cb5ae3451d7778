#include "engine/procedures/trace.h"

#include "engine/procedures/procedure.h"

namespace doclock::detail {

Trace TraceOf(const WriteOp& write, const ReadOp& look) noexcept {
  if (look.status == OpStatus::kMissing) {
    // No other client may erase under a live lock; and the document is erased, as requested.
    return write.write == WriteKind::kErase ? Trace::kWritten : Trace::kUnknown;
  }
  if (write.next != nullptr && look.lock_id == write.next->lock_id) return Trace::kWritten;
  if (write.write == WriteKind::kRelease && look.released == write.ReleaseId()) {
    return Trace::kWritten;
  }
  if (look.lock_id != write.lock_id) return Trace::kUnknown;
  // Under its lock only the holder moves the version. What is further on than this write could move
  // it was written by another program, and proves nothing.
  if (write.expected == kAnyVersion || look.version == write.expected) return Trace::kUnmoved;
  const bool written = write.write == WriteKind::kCheckpoint &&
                       (look.version == VersionLeft(write) || look.version == write.expected + 1);
  return written ? Trace::kWritten : Trace::kUnknown;
}

Trace TraceOf(const SaveOp& save, const ReadOp& look) noexcept {
  if (!save.Writes()) return Trace::kUnknown;
  if (look.status == OpStatus::kMissing) {
    return save.save == SaveKind::kErase ? Trace::kWritten : Trace::kUnknown;
  }
  if (look.released == save.write_id) return Trace::kWritten;
  const bool unmoved = save.save != SaveKind::kInsert && save.expected != kAnyVersion &&
                       look.version == save.expected && look.born == save.born;
  return unmoved ? Trace::kUnmoved : Trace::kUnknown;
}

}  // namespace doclock::detail
