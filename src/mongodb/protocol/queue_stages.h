#pragma once

#include "doclock/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/protocol/first_grant.h"

namespace doclock::mongodb {

// How commands pass the lock on in the queue of waiters (queue_entries.h). A client that frees the
// lock grants it to the first live entry if that is exclusive, and copies that entry's `wake` to
// lockPassed: the id of the waiter's store instance before the lock id, so that each instance can
// ask the server for the grants to itself.

/// No queue is stored: for statements that neither read nor change one.
void AddNoQueue(Doc& filter, const Collection& collection);
/// An expression: no entry is live.
Doc NobodyWaitsExpr(const Collection& collection);
/// The stage that removes the entry of this id, and those that are over.
void AddEntryRemoval(Array& stages, const Collection& collection, const Uuid& id);
/// The stages that clear the lock, or grant it to the first live entry unless min_hold lasts. They
/// do not raise the version.
void AddPassOn(Array& stages, const Collection& collection);
/// After the stages that end a share: those that pass the lock on if it was the last one. They
/// raise the version with the grant, unless an earlier stage did.
void AddPassOnOfLastShare(Array& stages, const Collection& collection, Raise raise);

}  // namespace doclock::mongodb
