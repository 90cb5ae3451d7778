#pragma once

#include <chrono>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Conditions on lock fields, for the filters of commands. Each guards itself against fields that
// somebody else wrote: nothing malformed counts as free or expired, and nothing makes a command
// fail.

/// Nobody holds it, and its version can be counted on. No `min_hold` was ever set, or it was taken
/// away: see AddClosed.
void AddFree(Doc& filter, const Collection& collection);
/// There is no such field: for an upsert, which would store the null that a comparison names.
void AddNeverClosed(Doc& filter, const Collection& collection);
/// No min_hold is stored.
void AddNotClosed(Doc& filter, const Collection& collection);
/// There are neither shares nor an intent, of whatever kind.
void AddNotShared(Doc& filter, const Collection& collection);
/// The version is a whole number or missing; what tells of the incarnation and of the last release
/// is a UUID, null or missing.
void AddGoodFields(Doc& filter, const Collection& collection);

/// May the lock in question be a shared one?
enum class Shareable : bool { kNo, kYes };

/// An expression, for $expr: a lock is there, and all that ReadStoredLock reads of it but the
/// shares is what this library writes.
Doc GoodLeaseExpr(const Collection& collection);
/// An expression: a lock is there and its lease is over.
Doc ExpiredExpr(const Collection& collection, Shareable shareable = Shareable::kYes);
/// An expression: its lease is not over.
Doc LiveExpr(const Collection& collection);
/// The length that a lease has after a renewal now: what is asked for, or what is left, if that is
/// more (docs/decisions/0009).
Doc RenewedTtlExpr(const Collection& collection, std::chrono::milliseconds ttl);

/// An expression: min_hold does not keep everybody out.
Doc OpenExpr(const Collection& collection);

}  // namespace doclock::mongodb
