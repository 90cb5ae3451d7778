#pragma once

#include <cstddef>
#include <optional>

#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// What the change stream of a collection tells a store instance.

/// { pipeline: [...] } for a change stream that looks up updated documents: of all events it lets
/// through locks that became free, grants from a queue to this instance, and erased documents.
Doc LockEvents(const LockFieldNames& names, const Uuid& instance);

/// The grant from a queue of which the event tells; nothing if it tells of none.
std::optional<GrantSeen> GrantIn(const bson_t& event, const Collection& collection);
/// Nothing if the document's `_id` is none that this library knows.
std::optional<std::size_t> KeyHashIn(const bson_t& event);

}  // namespace doclock::mongodb
