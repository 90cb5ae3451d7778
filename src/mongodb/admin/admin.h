#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/store.h"
#include "mongodb/client/clocks.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::ListCollections. @throws StoreException
std::vector<std::string> ListCollections(Server& server, std::chrono::milliseconds budget);

/// See Store::EnsureIndex. @throws StoreException, ConflictException
void EnsureIndex(Server& server, const Collection& collection, const IndexSpec& index);

/// Asks the server to make an index, and waits for 10 s at most.
void CreateIndex(Server& server, const Collection& collection, const Doc& spec, Reply& reply);
/// Has it refused one because another index has the same fields or name?
bool IsIndexConflict(const Reply& reply) noexcept;

/// Refuses a collection in which this library cannot keep its promises: one that another lock
/// system uses, whose programs would not see this library's locks, and one that the server itself
/// treats in a way that locks do not bear (collection_rules.h). Skips what the user may not read.
/// @throws StoreException kRefused with the reason; kUnavailable with the cause, if no primary has
/// answered for as long as calls wait for one
void CheckCollection(Server& server, const Collection& collection);

/// Refuses a collection of another library where the server itself would delete held locks, or
/// loses them with a failover; and one that holds locks of another library than this, or those of
/// doclock without a layout. Skips and throws as CheckCollection does.
/// @param index the one that the library makes: it may delete what is over
/// @param library its name
void CheckPlace(Server& server, const Collection& collection, const Doc& index,
                std::string_view library);

/// Is the index that the library makes there, or one that does the same? Throws as CheckPlace does.
/// @param is_needed refuse one that stands in its place
bool HasIndex(Server& server, const Collection& collection, const Doc& index, bool is_needed);

/// Looks at the server, its disk, this user's privileges and, unless it is null, a collection: see
/// Store::Examine. What the user may not see is a finding. @throws StoreException
std::vector<Finding> Examine(Server& server, const Collection* collection, const ClockSkew& skew,
                             std::chrono::milliseconds budget);

/// Looks at this user's privileges in such a collection, and at what CheckPlace and HasIndex look
/// at. @throws StoreException
std::vector<Finding> ExaminePlace(Server& server, const Collection& collection, const Doc& index,
                                  std::string_view library, std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
