#include "memory/shares.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "document/op_fault.h"
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

/// From the youngest on, which mostly goes first.
std::vector<Share>::reverse_iterator FindShare(std::vector<Share>& shares, const Uuid& id) {
  return std::find_if(shares.rbegin(), shares.rend(),
                      [&](const Share& share) { return share.id == id; });
}

/// A share that renews and releases, or null.
Share* FindLive(Document& document, const Uuid& id, TimePoint now) noexcept {
  if (!IsShared(document)) return nullptr;
  std::vector<Share>& shares = document.sharing->shares;
  const auto found = FindShare(shares, id);
  return found != shares.rend() && IsLive(*found, now) ? &*found : nullptr;
}

void DropExpired(Document& document, TimePoint now) {
  std::erase_if(document.sharing->shares, [&](const Share& share) { return !IsLive(share, now); });
}

struct LiveShares {
  int count = 0;
  bool all = true;  ///< None of those there are is over.
  TimePoint first_end = TimePoint::max();
};

LiveShares Count(const Document& document, TimePoint now) noexcept {
  LiveShares live;
  if (!IsShared(document)) return live;
  for (const Share& share : document.sharing->shares) {
    if (!IsLive(share, now)) {
      live.all = false;
      continue;
    }
    ++live.count;
    live.first_end = std::min(live.first_end, EndOf(share));
  }
  return live;
}

void CoverWith(Document& document, const Share& share) {
  document.lock_time = share.since;
  document.ttl = share.ttl;
  document.owner = share.owner;
}

/// Makes the document's lease that of the share which ends last. There is one.
void Cover(Document& document) {
  const std::vector<Share>& shares = document.sharing->shares;
  CoverWith(document, *std::max_element(shares.begin(), shares.end(), EndsBefore));
}

/// The same, when only this share may have come to end later.
void CoverToo(Document& document, const Share& share) {
  if (EndOf(share) >= document.lock_time + document.ttl) CoverWith(document, share);
}

/// Until when no share is to be had beside these; `now`: it is.
TimePoint EndOfWait(const AcquireOp& op, const Document& document, const LiveShares& live,
                    TimePoint now) {
  TimePoint end = now;
  if (!IsShared(document) && HasLiveLock(document, now)) {
    end = LeaseEnd(document);
  } else if (live.count >= op.grant.max_holders) {
    end = live.first_end;
  } else if (HasLiveIntent(document, now)) {
    end = document.sharing->intent_until;
  }
  return std::max(end, document.closed_until);
}

/// Is a share to be had beside these? If not, the operation is settled.
bool MayShare(AcquireOp& op, Document& document, const LiveShares& live, TimePoint now) {
  const TimePoint end = EndOfWait(op, document, live, now);
  if (end > now) {
    BusyUntil(op, document, end, now);
  } else if (HasShare(document, op.grant.lock_id, now)) {
    op.Fail(Errc::kRefused, kShareExistsText);
  } else {
    return true;
  }
  return false;
}

}  // namespace

void GrantShare(Document& document, const GrantRequest& grant, TimePoint now) {
  if (!document.sharing) document.sharing = std::make_unique<Sharing>();
  std::vector<Share>& shares = document.sharing->shares;
  shares.push_back(
      {grant.lock_id, now, now, grant.ttl, grant.owner, grant.group, document.version});
  document.lock_id = kSharedLockId;
  document.granted = now;
  CloseFor(document, grant.min_hold, now);
  shares.size() == 1 ? CoverWith(document, shares.back()) : CoverToo(document, shares.back());
}

void AcquireShare(AcquireOp& op, Document& document, TimePoint now) {
  const LiveShares live = Count(document, now);
  if (!MayShare(op, document, live, now)) return;
  op.created = false;
  op.took_over = HasLockId(document) && !IsShared(document);
  if (!live.all) DropExpired(document, now);
  ++document.version;
  GrantShare(document, op.grant, now);
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
  CoverToo(document, *share);
  Done(op);
}

bool HasShare(Document& document, const Uuid& id, TimePoint now) noexcept {
  return FindLive(document, id, now) != nullptr;
}

void ReleaseShare(WriteOp& op, Document& document, TimePoint now) {
  std::vector<Share>& shares = document.sharing->shares;
  const auto mine = FindShare(shares, op.lock_id);
  const bool covers = EndOf(*mine) == document.lock_time + document.ttl;
  std::swap(*mine, shares.back());
  shares.pop_back();
  if (covers && !shares.empty()) Cover(document);
  if (shares.empty() || !HasLiveLock(document, now)) {
    Clear(document, op.mark.is_nil() ? op.lock_id : op.mark);
  }
  op.version = document.version;
  Done(op);
}

void ExpireShares(Document& document, TimePoint now) {
  for (Share& share : document.sharing->shares) {
    if (IsLive(share, now)) share.since = now - share.ttl;
  }
  Cover(document);
}

}  // namespace doclock::memory
