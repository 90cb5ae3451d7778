#pragma once

#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/store.h"

namespace doclock {

// Applies a Filter to rows that a store holds in memory.

/// The body's tree; an empty object, without fields, if the text is not a JSON object.
DOCLOCK_EXPORT const nlohmann::json& TreeOf(const Body& body);

/// Does the body meet the filter's conditions?
DOCLOCK_EXPORT bool Matches(const Filter& filter, const Body& body);

/// Does a document that is locked, or is not, meet the filter's lock condition?
DOCLOCK_EXPORT bool StateMatches(const Filter& filter, bool locked) noexcept;

/// Does `a` stand before `b` in the filter's order?
DOCLOCK_EXPORT bool StandsBefore(const Filter& filter, const QueryRow& a, const QueryRow& b);

/// Do two values repeat each other under a unique index? Numbers are equal by value.
bool Repeats(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace doclock
