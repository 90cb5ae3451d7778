#pragma once

#include <chrono>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Conditions on lock fields, for the filters of commands. Each guards against fields that a foreign
// program wrote: nothing malformed counts as free or expired, and nothing makes a command fail.

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
/// The version is a whole number or missing; the incarnation and the mark of the last release are
/// each a UUID, null or missing.
void AddGoodFields(Doc& filter, const Collection& collection);

/// An expression, for $expr: there is a lock, and all its fields that ReadStoredLock reads, except
/// the shares, are what this library writes.
Doc GoodLeaseExpr(const Collection& collection);
/// What AddFree adds, as an expression.
Doc FreeExpr(const Collection& collection);
/// An expression: there is a lock, and its lease is over. It does not look at the shares.
Doc ExpiredExpr(const Collection& collection);
/// An expression: its lease is not over.
Doc LiveExpr(const Collection& collection);
/// The length of a lease after a renewal now: the requested length, or the remaining time if that
/// is more (docs/decisions/0009).
Doc RenewedTtlExpr(const Collection& collection, std::chrono::milliseconds ttl);

/// An expression: min_hold is over or absent.
Doc OpenExpr(const Collection& collection);

/// The document of an attempt, if its lock fields are what this library writes.
Doc SoundLockFilter(const AcquireOp& op);

// Expressions of such a document, which need not guard against anything else.

/// The lease is over, or there is none.
Doc IsOver(const Collection& collection);
/// An exclusive attempt can be granted the lock.
Doc IsFree(const Collection& collection);

}  // namespace doclock::mongodb
