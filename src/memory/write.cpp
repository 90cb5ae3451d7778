#include "document/merged.h"
#include "memory/operations.h"
#include "memory/place.h"
#include "memory/results.h"
#include "memory/shares.h"

namespace doclock::memory {
namespace {

/// Writes the body, if the operation has one. False: the operation is settled, nothing changed.
bool PutBody(WriteOp& op, Place& place, Remains& remains) {
  if (!op.body) return true;
  if (!HasGoodText(op, op.body)) return false;
  try {
    const Body merged = op.merge ? Merged(place.document()->body, op.body) : Body();
    auto refusal = place.PutBody(op.merge ? merged : op.body, remains.body);
    if (!refusal) return true;
    Conflict(op, std::move(*refusal));
  } catch (const DocumentException& error) {
    op.Fail(Errc::kDocument, error.what());
  }
  return false;
}

/// Clears the lock; or passes it on in the same write.
void Release(const WriteOp& op, Document& document, Moment& moment) {
  Clear(document, op.mark.is_nil() ? op.lock_id : op.mark);
  if (op.next != nullptr) Grant(document, *op.next, moment.Now());
}

void RestartLease(const WriteOp& op, Document& document, TimePoint now) noexcept {
  document.lock_time = now;
  document.ttl = op.ttl;
}

/// Under the shard's mutex. True: somebody may be waiting for what became free.
bool Write(WriteOp& op, Place& place, Moment& moment, Remains& remains) {
  Document& document = *place.document();
  if (op.write == WriteKind::kErase) {
    op.version = document.version + 1;
    remains.document = place.Take();
  } else {
    if (!PutBody(op, place, remains)) return false;
    op.version = ++document.version;
    if (op.write == WriteKind::kRelease) {
      Release(op, document, moment);
    } else {
      RestartLease(op, document, moment.Now());
    }
  }
  Done(op);
  return op.write != WriteKind::kCheckpoint && op.next == nullptr;
}

bool ExecuteLocked(WriteOp& op, Moment& moment, Remains& remains) {
  Place place(op);
  if (place.document() == nullptr) {
    op.status = OpStatus::kMissing;
    return false;
  }
  Document& document = *place.document();
  if (op.mode == LockMode::kShared) {
    if (!HasShare(document, op.lock_id, moment.Now())) {
      op.status = OpStatus::kLost;
      return false;
    }
    if (!PutBody(op, place, remains)) return false;
    if (op.body) ++document.version;
    ReleaseShare(op, document, moment.Now());
    return true;
  }
  const bool mine = IsHeldBy(document, op.lock_id) &&
                    (op.expected == kAnyVersion || op.expected == document.version);
  if (mine) return Write(op, place, moment, remains);
  op.status = OpStatus::kLost;
  return false;
}

}  // namespace

void Execute(WriteOp& op, Moment& moment) {
  Remains remains;
  if (ExecuteLocked(op, moment, remains)) CollectionOf(op).watchers().Tell(op.hash);
}

}  // namespace doclock::memory
