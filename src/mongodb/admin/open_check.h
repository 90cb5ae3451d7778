#pragma once

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// Refuses a collection in which this library cannot keep its promises: one that another lock
/// system uses, whose programs would not see this library's locks, and one that the server itself
/// treats in a way that locks do not bear (collection_rules.h). Skips what the user may not read.
/// @throws StoreException kRefused with the reason; kUnavailable with the cause, if no primary has
/// answered for as long as calls wait for one
void CheckCollection(Server& server, const Collection& collection);

}  // namespace doclock::mongodb
