#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doclock/document.h"
#include "postgresql/client/values.h"

namespace doclock::postgresql {

// Bodies and keys as PostgreSQL can keep them.

/// A text without U+0000, which PostgreSQL has not: U+0000 and U+0001 become two characters each,
/// and texts keep their order.
std::string Escaped(std::string_view text);
/// The inverse of Escaped.
std::string Unescaped(std::string_view text);

/// Refuses a body that `jsonb` cannot hold: one with U+0000, or with a number beyond `numeric`.
/// @throws DocumentException naming the member
void CheckForJsonb(const Body& body);
/// The body as `jsonb` takes it.
std::string JsonbOf(const Body& body);

/// What the columns of a key hold.
struct KeyColumns {
  std::int16_t kind = 0;
  std::int64_t number = 0;
  std::string text;
};
KeyColumns ColumnsOf(const Key& key);
/// Adds the columns key_kind, key_number and key_text.
void AddKey(Parameters& parameters, const Key& key);
/// Reads them, from this column on. @throws StoreException (kMalformed)
Key KeyFrom(const Result& result, int row, int column);

}  // namespace doclock::postgresql
