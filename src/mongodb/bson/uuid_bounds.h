#pragma once

#include <string_view>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Binaries compare by length, subtype and bytes: what lies between two UUIDs is a UUID, of the
// subtype of one of them.

/// The lowest UUID, and the highest.
Uuid LowestUuid() noexcept;
Uuid HighestUuid() noexcept;

/// A UUID of subtype 3, as drivers wrote them before there was subtype 4.
Doc& AddLegacyUuid(Doc& doc, std::string_view name, const Uuid& id);
bool IsLegacyUuid(const bson_iter_t& value);

}  // namespace doclock::mongodb
