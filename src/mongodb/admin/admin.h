#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "doclock/store/store.h"
#include "mongodb/client/clocks.h"
#include "mongodb/client/server.h"
#include "mongodb/layouts/layout.h"

namespace doclock::mongodb {

/// See Store::ListCollections. @throws StoreException
std::vector<std::string> ListCollections(Server& server, std::chrono::milliseconds budget);

/// See Store::EnsureIndex; of a collection of another library, its own index. @throws
/// StoreException, ConflictException
void EnsureIndex(Server& server, const Collection& collection, const IndexSpec& index);

/// Refuses a collection in which this library cannot keep its promises: one that another lock
/// system uses, whose programs would not see this library's locks, and one that the server itself
/// treats in a way that locks do not bear (collection_rules.h). Skips what the user may not read.
/// @throws StoreException kRefused with the reason; kUnavailable with the cause, if no primary has
/// answered for as long as calls wait for one
void CheckCollection(Server& server, const Collection& collection);

/// Opens a collection of another library; `creates`: makes the index that its locks need. Refuses
/// one where the server itself would delete held locks, or loses them with a failover; and one that
/// holds locks of another library than this, or those of doclock without a layout. Skips and throws
/// as CheckCollection does.
std::shared_ptr<Collection> OpenTheirs(Server& server, const std::string& name,
                                       std::chrono::milliseconds default_ttl,
                                       std::shared_ptr<const Layout> layout, bool creates);

/// Is the index that the library makes there, or one that does the same? Throws as OpenTheirs does.
/// @param is_needed refuse one that stands in its place
bool HasIndex(Server& server, const Collection& collection, const Doc& index, bool is_needed);

/// Looks at the server, its disk, this user's privileges and, unless it is null, a collection of
/// any library: see Store::Examine. What the user may not see is a finding. @throws StoreException
std::vector<Finding> Examine(Server& server, const Collection* collection, const ClockSkew& skew,
                             std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
