#pragma once

#include <cstddef>
#include <optional>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// What the change stream of a collection tells a store instance.

/// A lock that was granted from a queue.
struct ToldGrant {
  Uuid lock_id{};
  Doc document;  ///< With this lock in it; empty if the event does not tell it.
};

/// { pipeline: [...] } for a change stream that looks up updated documents: of all events it lets
/// through locks that became free, grants from a queue to this instance, and erased documents.
Doc LockEvents(const LockFieldNames& names, const Uuid& instance);

/// Nothing if the event tells of no grant.
std::optional<ToldGrant> GrantIn(const bson_t& event, const LockFieldNames& names);
/// Nothing if the document's `_id` is none that this library knows.
std::optional<std::size_t> KeyHashIn(const bson_t& event);

}  // namespace doclock::mongodb
