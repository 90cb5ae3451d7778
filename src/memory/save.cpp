#include "memory/operations.h"
#include "memory/place.h"
#include "memory/results.h"

namespace doclock::memory {
namespace {

void Insert(SaveOp& op, Place& place) {
  if (place.document() != nullptr) return Conflict(op, *place.document());
  if (!HasGoodText(op, op.body)) return;
  auto document = std::make_unique<Document>(*op.key, op.hash);
  document->born = NewUuid();
  document->version = 1;
  document->released = op.write_id;
  if (auto refusal = place.Insert(std::move(document), op.body)) {
    return Conflict(op, std::move(*refusal));
  }
  op.born = place.document()->born;
  op.version = 1;
  Done(op);
}

bool IsExpected(const SaveOp& op, const Document& document) noexcept {
  if (op.expected == kAnyVersion) return true;  // an erasure
  return op.expected == document.version && op.born == document.born;
}

/// False: the operation is settled, nothing changed.
bool PutBody(SaveOp& op, Place& place, Remains& remains) {
  if (!op.body) return true;
  if (!HasGoodText(op, op.body)) return false;
  auto refusal = place.PutBody(op.body, remains.body);
  if (refusal) Conflict(op, std::move(*refusal));
  return !refusal;
}

/// True: a lock went.
bool Change(SaveOp& op, Place& place, Remains& remains) {
  Document& document = *place.document();
  const bool had_lock = HasLockId(document);
  if (op.save == SaveKind::kErase) {
    op.version = document.version + 1;
    remains.document = place.Take();
  } else {
    if (!PutBody(op, place, remains)) return false;
    op.version = ++document.version;
    Clear(document, op.write_id);
  }
  Done(op);
  return had_lock;
}

bool ExecuteLocked(SaveOp& op, TimePoint now, Remains& remains) {
  Place place(op);
  if (op.save == SaveKind::kInsert) {
    Insert(op, place);
    return false;
  }
  const Document* document = place.document();
  if (document == nullptr) {
    op.status = OpStatus::kMissing;
  } else if (HasLiveLock(*document, now)) {
    BusyUntil(op, *document, LeaseEnd(*document), now);
  } else if (!IsExpected(op, *document)) {
    Conflict(op, *document);
  } else {
    return Change(op, place, remains);
  }
  return false;
}

}  // namespace

void Execute(SaveOp& op, Moment& moment) {
  Remains remains;
  if (ExecuteLocked(op, moment.Now(), remains)) CollectionOf(op).watchers().Tell(op.hash);
}

}  // namespace doclock::memory
