#pragma once

#include <string>

#include "doclock/export.h"
#include "doclock/key.h"
#include "doclock/store.h"

namespace doclock::testing {

/// Ends a lease now, as if its time had run out; the lock is not granted to another client.
/// A repository of this process must have opened the collection.
/// @throws NotFoundException if there is no such document; LockException (kNotOwner) if it is not
/// locked.
DOCLOCK_EXPORT void ExpireLock(Store& store, const std::string& collection, const Key& key);

/// Grants the lock to another client now, as if the lease had run out unnoticed. Its holder finds
/// out at its next renewal or write. @throws NotFoundException
DOCLOCK_EXPORT void StealLock(Store& store, const std::string& collection, const Key& key);

}  // namespace doclock::testing
