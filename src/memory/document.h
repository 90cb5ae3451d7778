#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doclock/clock.h"
#include "doclock/key.h"
#include "doclock/store.h"

namespace doclock::memory {

struct IndexEntry;
using EntryPtr = std::shared_ptr<const IndexEntry>;

/// One share of a shared lock.
struct Share {
  Uuid id;
  TimePoint granted;
  TimePoint since;  ///< of the grant or the last renewal
  std::chrono::milliseconds ttl;
  OwnerPtr owner;
  std::string group;
  std::int64_t fence;  ///< the document's version after the grant
};

/// What a document that is or was shared has beside its lock.
struct Sharing {
  std::vector<Share> shares;  ///< empty unless the lock id is kSharedLockId
  Uuid intent{};              ///< of a writer who waits
  TimePoint intent_until{};
};

/// A stored document. What an acquire and a release touch stands first, to touch few cache lines.
struct Document {
  explicit Document(const Key& k, std::size_t key_hash) : key(k), hash(key_hash) {}

  Key key;
  std::size_t hash;  ///< key.Hash()
  Uuid lock_id{};    ///< nil: nobody holds it
  std::int64_t version = 0;
  TimePoint lock_time{};  ///< of the last grant or renewal
  std::chrono::milliseconds ttl{};
  TimePoint granted{};       ///< of the last grant
  TimePoint closed_until{};  ///< by min_hold
  std::int64_t fence = 0;    ///< the version after the last exclusive grant
  Body body;
  /// Of the last grant. A release leaves it, so that a worker which locks again and again does not
  /// touch the shared counter each time.
  OwnerPtr owner;
  std::string group;
  Uuid born{};
  Uuid released{};
  std::vector<EntryPtr> entries;     ///< one in each index of the collection
  std::unique_ptr<Sharing> sharing;  ///< mostly null
};

/// May the lock id in it be followed by a name and a lease?
inline bool HasLockId(const Document& document) noexcept { return !document.lock_id.is_nil(); }

/// Is there a lease that has not run out?
inline bool HasLiveLock(const Document& document, TimePoint now) noexcept {
  return HasLockId(document) && now - document.lock_time < document.ttl;
}

/// Does min_hold keep everybody out?
inline bool IsClosed(const Document& document, TimePoint now) noexcept {
  return now < document.closed_until;
}

/// Do shares hold it (or did, until their leases were over)?
inline bool IsShared(const Document& document) noexcept {
  return document.lock_id == kSharedLockId;
}

/// Is this the exclusive lock of whoever names `lock_id`? A nil id holds nothing.
inline bool IsHeldBy(const Document& document, const Uuid& lock_id) noexcept {
  return !lock_id.is_nil() && document.lock_id == lock_id && !IsShared(document);
}

/// What is left, rounded up: whoever waits so long finds it over.
inline std::chrono::milliseconds Left(std::chrono::nanoseconds rest) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(rest);
}

/// When the lease of the last grant ends, or has ended.
inline TimePoint LeaseEnd(const Document& document) noexcept {
  return document.lock_time + document.ttl;
}

/// What is left of a live lock's lease.
inline std::chrono::milliseconds LeaseLeft(const Document& document, TimePoint now) noexcept {
  return Left(LeaseEnd(document) - now);
}

/// Who the last grant went to.
inline LockHolder HolderOf(const Document& document) {
  return document.owner ? *document.owner : LockHolder{};
}

/// min_hold of a grant. A longer one of an earlier grant goes on.
inline void CloseFor(Document& document, std::chrono::milliseconds min_hold,
                     TimePoint now) noexcept {
  if (min_hold.count() > 0) document.closed_until = std::max(document.closed_until, now + min_hold);
}

/// The lock passes to `grant`, exclusively: this ends an intent. The caller has raised
/// the version: a hand-over does it once.
inline void Grant(Document& document, const GrantRequest& grant, TimePoint now) {
  if (document.group != grant.group) document.group = grant.group;  // may throw: before the rest
  document.lock_id = grant.lock_id;
  document.lock_time = now;
  document.granted = now;
  document.fence = document.version;
  document.ttl = grant.ttl;
  if (document.owner != grant.owner) document.owner = grant.owner;
  CloseFor(document, grant.min_hold, now);
  document.sharing.reset();
}

/// The lock is gone; `mark` says by whose doing. An intent stays.
inline void Clear(Document& document, const Uuid& mark) noexcept {
  if (document.sharing) document.sharing->shares.clear();
  document.lock_id = Uuid{};
  document.released = mark;
}

}  // namespace doclock::memory
