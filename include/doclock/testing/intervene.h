#pragma once

#include <string>

#include "doclock/export.h"
#include "doclock/key.h"
#include "doclock/store.h"

/// @file
/// What happens to a lock that its holder does not expect. Each function asks `store` for ordinary
/// operations, which a FaultyStore counts, and on which its faults strike. A repository of this
/// process must have opened the collection, or NotFoundException is thrown. Malformed lock fields
/// are a StoreException (kMalformed).

namespace doclock::testing {

/// Ends a lease now, as if its time had run out; the lock is not granted to another client. The
/// document's version rises by one. Shares are released. A lease that is over stays as it is.
/// @throws NotFoundException if there is no such document; LockException (kNotOwner) if it is not
/// locked.
DOCLOCK_EXPORT void ExpireLock(Store& store, const std::string& collection, const Key& key);

/// Releases the lock, and all its shares, for its holders, as LockAdmin::Break does. Its holder
/// finds out at its next renewal or write.
/// @throws NotFoundException if there is no such document; LockException (kNotOwner) if it is not
/// locked.
DOCLOCK_EXPORT void BreakLock(Store& store, const std::string& collection, const Key& key);

/// Grants the lock to another client now, as if the lease had run out unnoticed. Its holder finds
/// out at its next renewal or write. @throws NotFoundException if there is no such document;
/// LockException (kBusy) if the lock has no holder, and is not available all the same.
DOCLOCK_EXPORT void StealLock(Store& store, const std::string& collection, const Key& key);

}  // namespace doclock::testing
