#include "sqlite/operations/operations.h"

namespace doclock::sqlite {
namespace {

/// Somebody whom nobody knows.
GrantRequest StrangersGrant() {
  LockHolder holder;
  holder.name = "stranger";
  GrantRequest grant;
  grant.lock_id = NewUuid();
  grant.ttl = std::chrono::seconds(30);
  grant.owner = std::make_shared<const LockHolder>(std::move(holder));
  grant.detached = true;
  return grant;
}

}  // namespace

void Operations::Intervene(const SqliteCollection& collection, StoredLock& lock,
                           Intervention what) {
  places_.Remove(lock.id);
  const StoredLock before = lock;
  const bool shared = lock.id == kSharedLockId;
  switch (what) {
    case Intervention::kExpire:
      around_.judge.EndLease(lock, now_);
      break;
    case Intervention::kBreak:
      around_.judge.Rebase(lock, now_);
      ++lock.version;
      lock.id = Uuid{};
      if (shared) lock.slot = kIntentSlot;
      // A mark of its own: the holder's would tell it that its release was done.
      lock.released = NewUuid();
      break;
    case Intervention::kSteal:
      ++lock.version;
      SetGrant(lock, StrangersGrant());
      break;
  }
  Put(collection, lock);
  DropLease(collection, lock);
  if (what == Intervention::kSteal) {
    DropShared(collection, before);
  } else if (shared && what == Intervention::kBreak) {
    SharesOf(collection).DeleteAll(lock.doc);
  } else if (shared) {
    SharesOf(collection).Expire(lock.doc);
  }
}

void Operations::Purge(const SqliteCollection& collection, StoredLock& lock) {
  const bool shared = lock.id == kSharedLockId;
  lock.slot = shared ? kIntentSlot : 0;
  around_.judge.RebaseEnded(lock, now_);
  lock.id = Uuid{};
  Put(collection, lock);
  DropLease(collection, lock);
  DropGroup(collection, lock.doc);
  if (shared) SharesOf(collection).DeleteAll(lock.doc);
}

}  // namespace doclock::sqlite
