#pragma once

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// The document of an attempt, if its lock fields are what this library writes.
Doc SoundLockFilter(const AcquireOp& op);

/// A part of it, as an expression: the lease, the shares and the time until which the lock is
/// closed.
Doc SoundLockExpr(const Collection& collection);

// Expressions of such a document, which need not guard against anything else.

/// The lease is over, or there is none.
Doc IsOver(const Collection& collection);
/// An exclusive attempt can be granted the lock.
Doc IsFree(const Collection& collection);

}  // namespace doclock::mongodb
