#include <algorithm>

#include "memory/operations.h"
#include "memory/place.h"
#include "memory/results.h"
#include "memory/shares.h"

namespace doclock::memory {
namespace {

bool IsShare(const GrantRequest& grant) noexcept { return grant.mode == LockMode::kShared; }

void GrantNew(AcquireOp& op, Place& place, TimePoint now) {
  if (!HasGoodText(op, op.insert)) return;
  auto document = std::make_unique<Document>(*op.key, op.hash);
  document->born = op.grant.lock_id;
  document->version = 1;
  IsShare(op.grant) ? GrantShare(*document, op.grant, now) : Grant(*document, op.grant, now);
  if (auto refusal = place.Insert(std::move(document), op.insert)) {
    return Conflict(op, std::move(*refusal));
  }
  FillIn(op, *place.document());
  op.created = true;
  op.took_over = false;
  Done(op);
}

}  // namespace

void GrantExisting(AcquireOp& op, Document& document, TimePoint now) {
  op.created = false;
  op.took_over = HasLockId(document);
  ++document.version;
  Grant(document, op.grant, now);
  FillIn(op, document);
  Done(op);
}

void Execute(AcquireOp& op, Moment& moment) {
  const TimePoint now = moment.Now();
  Place place(op);
  Document* document = place.document();
  if (document == nullptr) {
    if (op.insert) return GrantNew(op, place, now);
    op.status = OpStatus::kMissing;
  } else if (IsShare(op.grant)) {
    AcquireShare(op, *document, now);
  } else if (HasLiveLock(*document, now) || IsClosed(*document, now)) {
    LeaveIntent(*document, op.grant, now);
    const TimePoint end = HasLiveLock(*document, now) ? LeaseEnd(*document) : now;
    BusyUntil(op, *document, std::max(end, document->closed_until), now);
  } else {
    GrantExisting(op, *document, now);
  }
}

void Execute(RenewOp& op, Moment& moment) {
  const TimePoint now = moment.Now();
  const Place place(op);
  Document* document = place.document();
  if (document == nullptr) {
    op.status = OpStatus::kMissing;
  } else if (op.mode == LockMode::kShared) {
    RenewShare(op, *document, now);
  } else if (!IsHeldBy(*document, op.lock_id) || !HasLiveLock(*document, now)) {
    op.status = OpStatus::kLost;
  } else {
    document->ttl = std::max(op.ttl, LeaseLeft(*document, now));  // never sooner over than without
    document->lock_time = now;
    Done(op);
  }
}

void Execute(ReadOp& op, Moment& moment) {
  const TimePoint now = moment.Now();
  const Place place(op);
  const Document* document = place.document();
  if (document == nullptr) {
    op.status = OpStatus::kMissing;
    return;
  }
  op.body = document->body;
  op.version = document->version;
  op.born = document->born;
  op.lock_id = document->lock_id;
  op.released = document->released;
  op.locked = HasLiveLock(*document, now);
  op.holder = HasLockId(*document) ? HolderOf(*document) : LockHolder{};
  op.remaining = op.locked ? LeaseLeft(*document, now) : std::chrono::milliseconds{};
  Done(op);
}

}  // namespace doclock::memory
