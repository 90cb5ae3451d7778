#pragma once

#include <span>
#include <string>

#include "mongodb/operations/operations.h"

namespace doclock::mongodb {

// Documents whose `_id` is a UUID of subtype 3. No Key names them, because each driver had its own
// order of bytes. An operation on one fails with that reason, instead of kMissing.

/// The error text for such a document.
std::string LegacyIdText(const Collection& collection);

/// Operations of one collection that found no document fail (kRefused) if there is one with the
/// same UUID in subtype 3, in whichever order of bytes.
void RefuseLegacyIds(Operations& operations, std::span<StoreOp* const> ops);

/// Has one of the documents that meet `match` such an `_id`? False if that is unknown.
bool HasLegacyId(Operations& operations, const Collection& collection, const Doc& match);

}  // namespace doclock::mongodb
