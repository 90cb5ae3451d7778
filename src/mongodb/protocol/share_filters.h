#pragma once

#include <span>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// The shares of a document, for commands. While there are shares, lockId is kSharedLockId, the
// lease that lockTime and lockTtl make covers the latest of them, and lockReaders is an array of
//   { id: UUID, time: date of the last grant or renewal, ttl: ms, owner: {...}, group: text }.
// As in lock_filters.h, no expression makes a command fail.

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
