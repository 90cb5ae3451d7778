#include <algorithm>

#include "rules/fault.h"
#include "sqlite/db/unix_time.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

ShareCount Reader::Count(const SqliteCollection& collection,
                         const std::vector<StoredShare>& shares) {
  ShareCount count;
  for (const StoredShare& share : shares) {
    if (share.lease.malformed) {
      count.malformed = true;
      continue;
    }
    const Verdict verdict = around_.judge.OfShare(collection, share.lease, now_);
    if (!verdict.live) {
      count.over.push_back(share.lease.id);
      continue;
    }
    const auto left = verdict.lease_left;
    count.first_left = count.live == 0 ? left : std::min(count.first_left, left);
    if (left >= count.last_left) {
      count.last_left = left;
      count.owner = share.lease.owner;
    }
    ++count.live;
  }
  return count;
}

Verdict Reader::JudgedShared(const SqliteCollection& collection, const StoredLock& lock) {
  // The row's own lease only covers those of the shares, whose processes may be dead.
  Verdict verdict = around_.judge.Of(collection, lock, now_);
  const ShareCount count = Count(collection, SharesOf(collection).Of(lock.doc));
  verdict.live = count.live > 0 || count.malformed;
  verdict.malformed = count.malformed;
  verdict.lease_left = count.last_left;
  verdict.owner = count.owner;
  return verdict;
}

void Operations::AcquireShare(AcquireOp& op, StoredDocument& document) {
  const SqliteCollection& collection = CollectionOf(op);
  const StoredLock& lock = document.lock;
  const Verdict own = around_.judge.Of(collection, lock, now_);
  const bool shared = lock.id == kSharedLockId;
  if (!shared && own.live) return Busy(op, own);
  const ShareRows rows = SharesOf(collection).Glance(lock.doc);
  // Mostly there is room even if all of them are live.
  const bool surely = !own.closed && !rows.intent && rows.shares < op.grant.max_holders;
  if (!surely && !HasRoom(op, lock, own)) return;
  // What programs that do not know of shares left behind.
  if (!shared && rows.shares > 0) SharesOf(collection).DeleteAll(lock.doc);
  GrantShare(op, document, shared ? own.lease_left : std::chrono::milliseconds(0));
}

/// Looks at each share, and drops those that are over. False: the operation is settled.
bool Operations::HasRoom(AcquireOp& op, const StoredLock& lock, const Verdict& own) {
  const SqliteCollection& collection = CollectionOf(op);
  Shares shares = SharesOf(collection);
  ShareCount count;
  if (lock.id == kSharedLockId) count = Count(collection, shares.Of(lock.doc));
  std::optional<std::chrono::milliseconds> wait;
  const auto intent = shares.Intent(lock.doc);
  if (count.malformed || (intent && intent->malformed)) {
    Malformed(op);
    return false;
  }
  const Verdict waits = intent ? around_.judge.OfIntent(collection, *intent, now_) : Verdict();
  if (count.live >= op.grant.max_holders) {
    wait = count.first_left;
  } else if (waits.live) {
    wait = waits.lease_left;
  }
  if (own.closed) wait = std::max(wait.value_or(own.closed_left), own.closed_left);
  if (wait) {
    Busy(op, count.owner, *wait);
    if (own.closed && count.live == 0) op.detail->message = "min_hold";
    return false;
  }
  if (intent) shares.DeleteIntent(lock.doc);
  for (const Uuid& over : count.over) shares.Delete(lock.doc, over);
  return true;
}

void Operations::GrantShare(AcquireOp& op, StoredDocument& document,
                            std::chrono::milliseconds others_left) {
  const SqliteCollection& collection = CollectionOf(op);
  StoredLock& lock = document.lock;
  op.took_over = lock.id != kSharedLockId && !lock.id.is_nil();
  op.created = false;
  if (lock.born.is_nil()) lock.born = NewUuid();
  ++lock.version;
  SetSharedGrant(lock, op.grant, others_left);
  if (!AddShare(op, lock)) return;
  Put(collection, lock);
  DropLease(collection, lock);
  op.version = lock.version;
  op.born = lock.born;
  op.body = std::move(document.body);
  op.status = OpStatus::kDone;
}

void Operations::SetSharedGrant(StoredLock& lock, const GrantRequest& grant,
                                std::chrono::milliseconds others_left) {
  SetGrant(lock, grant);
  lock.id = kSharedLockId;
  lock.ttl = std::max(grant.ttl, others_left);
  lock.slot = 0;  // the shares have their own
}

/// False: a live share has the id already, and the operation is settled.
bool Operations::AddShare(AcquireOp& op, const StoredLock& lock) {
  const SqliteCollection& collection = CollectionOf(op);
  Shares shares = SharesOf(collection);
  const StoredShare share = ShareFor(lock, op.grant);
  if (shares.Add(share)) return true;
  const StoredShare there = shares.Find(lock.doc, op.grant.lock_id).value();
  if (there.lease.malformed) {
    Malformed(op);
  } else if (around_.judge.OfShare(collection, there.lease, now_).live) {
    op.Fail(Errc::kRefused, kShareExistsText);
  } else {
    shares.Put(share);
    return true;
  }
  return false;
}

StoredShare Operations::ShareFor(const StoredLock& lock, const GrantRequest& grant) {
  StoredShare share;
  share.doc = lock.doc;
  share.lease.fence = lock.fence;
  share.lease.id = grant.lock_id;
  share.lease.time = share.granted = now_.time_since_epoch();
  share.lease.ttl = grant.ttl;
  share.lease.slot = SlotFor(grant.detached);
  share.lease.boot = around_.judge.boot();
  share.lease.owner = around_.owners.NumberOf(connection_, grant.owner, UnixTime());
  share.lease.wall = UnixTime();
  share.group = grant.group;
  return share;
}

void Operations::LeaveIntent(const AcquireOp& op, const StoredLock& lock) {
  if (lock.id != kSharedLockId || op.grant.intent_id.is_nil()) return;
  const SqliteCollection& collection = CollectionOf(op);
  const auto found = SharesOf(collection).Intent(lock.doc);
  const bool anothers = found && !found->malformed && found->id != op.grant.intent_id &&
                        around_.judge.OfIntent(collection, *found, now_).live;
  if (anothers) return;
  StoredLock intent;
  intent.doc = lock.doc;
  intent.id = op.grant.intent_id;
  intent.time = now_.time_since_epoch();
  intent.ttl = op.grant.intent;
  intent.slot = SlotFor(op.grant.detached);
  intent.boot = around_.judge.boot();
  SharesOf(collection).PutIntent(intent);
}

void Operations::DropShared(const SqliteCollection& collection, const StoredLock& before) {
  const bool was_shared = before.id == kSharedLockId;
  if (was_shared) SharesOf(collection).DeleteAll(before.doc);
  const bool may_have_intent = before.id.is_nil() && before.slot == kIntentSlot;
  if (was_shared || may_have_intent) SharesOf(collection).DeleteIntent(before.doc);
}

}  // namespace doclock::sqlite
