#include "memory/shares.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "memory/operations.h"
#include "memory/results.h"

namespace doclock::memory {
namespace {

TimePoint EndOf(const Share& share) noexcept { return share.since + share.ttl; }

bool IsLive(const Share& share, TimePoint now) noexcept { return now - share.since < share.ttl; }

bool EndsBefore(const Share& a, const Share& b) noexcept { return EndOf(a) < EndOf(b); }

bool HasLiveIntent(const Document& document, TimePoint now) noexcept {
  return document.sharing && !document.sharing->intent.is_nil() &&
         now < document.sharing->intent_until;
}

/// A share that renews and releases, or null.
Share* FindLive(Document& document, const Uuid& id, TimePoint now) noexcept {
  if (!IsShared(document)) return nullptr;
  for (Share& share : document.sharing->shares) {
    if (share.id == id) return IsLive(share, now) ? &share : nullptr;
  }
  return nullptr;
}

void DropExpired(Document& document, TimePoint now) {
  std::erase_if(document.sharing->shares, [&](const Share& share) { return !IsLive(share, now); });
}

struct LiveShares {
  int count = 0;
  TimePoint first_end = TimePoint::max();
};

LiveShares Count(const Document& document, TimePoint now) noexcept {
  LiveShares live;
  if (!IsShared(document)) return live;
  for (const Share& share : document.sharing->shares) {
    if (!IsLive(share, now)) continue;
    ++live.count;
    live.first_end = std::min(live.first_end, EndOf(share));
  }
  return live;
}

/// Makes the document's lease that of the share which ends last. There is one.
void Cover(Document& document) {
  const std::vector<Share>& shares = document.sharing->shares;
  const Share& last = *std::max_element(shares.begin(), shares.end(), EndsBefore);
  document.lock_time = last.since;
  document.ttl = last.ttl;
  document.owner = last.owner;
}

void BusyUntil(StoreOp& op, const Document& document, TimePoint end, TimePoint now) {
  Busy(op, document, now);
  op.detail->remaining = Left(end - now);
}

/// Is a share to be had? If not, the operation is settled.
bool MayShare(AcquireOp& op, const Document& document, TimePoint now) {
  const LiveShares live = Count(document, now);
  if (!IsShared(document) && HasLiveLock(document, now)) {
    Busy(op, document, now);
  } else if (IsClosed(document, now)) {
    BusyUntil(op, document, document.closed_until, now);
  } else if (live.count >= op.grant.max_holders) {
    BusyUntil(op, document, live.first_end, now);
  } else if (HasLiveIntent(document, now)) {
    BusyUntil(op, document, document.sharing->intent_until, now);
  } else {
    return true;
  }
  return false;
}

}  // namespace

void GrantShare(Document& document, const GrantRequest& grant, TimePoint now) {
  if (!document.sharing) document.sharing = std::make_unique<Sharing>();
  DropExpired(document, now);
  document.sharing->shares.push_back(
      {grant.lock_id, now, now, grant.ttl, grant.owner, grant.group});
  document.lock_id = kSharedLockId;
  document.granted = now;
  if (grant.min_hold.count() > 0) document.closed_until = now + grant.min_hold;
  Cover(document);
}

void AcquireShare(AcquireOp& op, Document& document, TimePoint now) {
  if (!MayShare(op, document, now)) return;
  op.created = false;
  op.took_over = HasLockId(document) && !IsShared(document);
  GrantShare(document, op.grant, now);
  ++document.version;
  FillIn(op, document);
  Done(op);
}

void LeaveIntent(Document& document, const GrantRequest& grant, TimePoint now) {
  if (grant.intent_id.is_nil() || !IsShared(document) || !HasLiveLock(document, now)) return;
  Sharing& sharing = *document.sharing;
  if (HasLiveIntent(document, now) && sharing.intent != grant.intent_id) return;
  sharing.intent = grant.intent_id;
  sharing.intent_until = now + grant.intent;
}

void RenewShare(RenewOp& op, Document& document, TimePoint now) {
  Share* const share = FindLive(document, op.lock_id, now);
  if (share == nullptr) {
    op.status = OpStatus::kLost;
    return;
  }
  share->ttl = std::max(op.ttl, Left(EndOf(*share) - now));  // never sooner over than without
  share->since = now;
  Cover(document);
  Done(op);
}

bool ReleaseShare(WriteOp& op, Document& document, TimePoint now) {
  if (FindLive(document, op.lock_id, now) == nullptr) {
    op.status = OpStatus::kLost;
    return false;
  }
  DropExpired(document, now);
  std::erase_if(document.sharing->shares,
                [&](const Share& share) { return share.id == op.lock_id; });
  if (document.sharing->shares.empty()) {
    Clear(document, op.mark.is_nil() ? op.lock_id : op.mark);
  } else {
    Cover(document);
  }
  op.version = document.version;
  Done(op);
  return true;
}

void ExpireShares(Document& document, TimePoint now) {
  for (Share& share : document.sharing->shares) {
    if (IsLive(share, now)) share.since = now - share.ttl;
  }
  Cover(document);
}

}  // namespace doclock::memory
