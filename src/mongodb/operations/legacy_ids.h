#pragma once

#include <span>
#include <string>

#include "mongodb/operations/operations.h"

namespace doclock::mongodb {

// Documents whose `_id` is a UUID of subtype 3. No Key names them: each driver had an order of
// bytes of its own for them. Whoever looks for one is told so, rather than that there is none.

/// Why such a document is not to be had.
std::string LegacyIdText(const Collection& collection);

/// Operations of one collection that found no document fail (kRefused) if there is one with the
/// same UUID in subtype 3, in whichever order of bytes.
void RefuseLegacyIds(Operations& operations, std::span<StoreOp* const> ops);

/// Has one of the documents that meet `match` such an `_id`? No, if nobody knows.
bool HasLegacyId(Operations& operations, const Collection& collection, const Doc& match);

}  // namespace doclock::mongodb
