#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Conditions on lock fields, for the filters of commands. Each guards against fields that a foreign
// program wrote: nothing malformed counts as free or expired, and nothing makes a command fail.
// Plain conditions cost the server a small part of what expressions do.

/// It is not locked, neither by doclock nor, as an owner of another type may mean, by a program
/// that keeps no id.
void AddFree(Doc& filter, const Collection& collection);
/// No `min_hold` was ever set, or it was removed. The field is missing: for an upsert, which would
/// store the null of a comparison.
void AddNeverClosed(Doc& filter, const Collection& collection);
/// There are no shares, valid or not.
void AddNotShared(Doc& filter, const Collection& collection);
/// The version is a whole number or missing.
void AddGoodVersion(Doc& filter, const Collection& collection);

/// What a lock's fields hold, if they are what this library writes.
enum class LockPart : std::uint8_t {
  /// The version is a whole number or missing; the incarnation and the mark of the last release
  /// are each a UUID, null or missing.
  kFields,
  kLease,   ///< There are the time and the length of a lease. The id is not looked at.
  kClosed,  ///< The end of min_hold is a date, null or missing.
  kShares,  ///< The shares are sound, null or missing; and there are some if the id says so.
};
/// Asks for sound parts; for all of them, of a lock that is there. @param filter has no $nor, and
/// no condition for the time of a lease
void AddSound(Doc& filter, const Collection& collection,
              std::initializer_list<LockPart> parts = {LockPart::kFields, LockPart::kLease,
                                                       LockPart::kClosed, LockPart::kShares});
/// The condition for the id of a lock, exclusive or shared.
Doc LockIdThere();
/// All is sound, and the lock is free or there. @param filter has neither $nor nor $or
void AddSoundLock(Doc& filter, const Collection& collection);

// Expressions, for $expr. They make no command fail, whatever a foreign program wrote, but say
// something of a sound lock only: a filter needs the conditions for that beside them.

/// The lease of a lock that is there is over. It does not look at the shares.
Doc ExpiredExpr(const Collection& collection);
/// There is no lock, or its lease is over.
Doc NotLiveExpr(const Collection& collection);
/// It is not over.
Doc LiveExpr(const Collection& collection);
/// The length of a lease after a renewal now: the requested length, or the remaining time if that
/// is more (docs/decisions/0009).
Doc RenewedTtlExpr(const Collection& collection, std::chrono::milliseconds ttl);

/// min_hold is over or absent.
Doc OpenExpr(const Collection& collection);

/// The document of an attempt, if its lock is sound.
Doc SoundLockFilter(const AcquireOp& op);

/// The document of an attempt, if another client's exclusive lock stands there, live or over, and
/// the queue has room. Without expressions, so it costs the server little, and matches less than it
/// might: no full queue of which entries are over, say.
Doc HeldByOtherFilter(const AcquireOp& op);

// Expressions of a document that SoundLockFilter finds, which need not guard against anything else.

/// The lease is over, or there is none.
Doc IsOver(const Collection& collection);
/// An exclusive attempt can be granted the lock.
Doc IsFree(const Collection& collection);

// The shares of a document, for commands. While there are shares, lockId is kSharedLockId, the
// lease that lockTime and lockTtl make covers the latest of them, and lockReaders is an array of
//   { id: UUID, time: date of the last grant or renewal, ttl: ms, owner: {...}, group: text }.
// No expression makes a command fail.

// Expressions of a document with sound shares (LockPart::kShares).

/// This share can be granted now.
Doc ShareableExpr(const Collection& collection, const GrantRequest& grant);
/// It is shared.
Doc IsSharedExpr(const Collection& collection);
/// There is room for a share beside the live ones and so many that come before it, and none of them
/// has its id.
Doc RoomExpr(const Collection& collection, const GrantRequest& grant, const Doc& before);
/// These shares are live.
Doc AreLiveExpr(const Collection& collection, const Array& ids);

/// The stages that grant a share. @param flag the path of a field that says whether to do it;
/// empty: always
void AddShareGrant(Array& stages, const AcquireOp& op, const std::string& flag = {});
/// The stages that renew these shares, which are live, with one ttl for all.
void AddShareRenewal(Array& stages, const Collection& collection, const Array& ids,
                     std::chrono::milliseconds ttl);
/// The stages that end a share, and the lock with the last one; `mark` is stored as the release's
/// id.
void AddShareRelease(Array& stages, const Collection& collection, const Uuid& id, const Uuid& mark);
/// The stage that raises the version.
void AddVersionRaise(Array& stages, const Collection& collection);

}  // namespace doclock::mongodb
