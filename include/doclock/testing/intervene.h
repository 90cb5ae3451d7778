#pragma once

#include <string>

#include "doclock/export.h"
#include "doclock/key.h"
#include "doclock/store.h"

namespace doclock::testing {

/// Ends a lease now, as if its time had run out; nobody takes the lock.
/// The collection must have been opened (by a repository of this process).
/// @throws NotFoundException if there is no such document; LockException (kNotOwner) if nobody
/// holds it.
DOCLOCK_EXPORT void ExpireLock(Store& store, const std::string& collection, const Key& key);

/// Lets a stranger take the lock now, as if the lease had run out unnoticed: its holder finds out
/// at its next renewal or write. @throws NotFoundException
DOCLOCK_EXPORT void StealLock(Store& store, const std::string& collection, const Key& key);

}  // namespace doclock::testing
