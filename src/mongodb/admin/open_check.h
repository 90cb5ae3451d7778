#pragma once

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// Refuses a collection in which locks cannot be what this library promises: one that another lock
/// system uses, whose holders would not see ours, and one whose collation makes two keys one. What
/// the user may not look at is passed over.
/// @throws StoreException kRefused with the reason; kUnavailable with the cause, when no primary
/// has answered for as long as calls wait for one
void CheckCollection(Server& server, const Collection& collection);

}  // namespace doclock::mongodb
