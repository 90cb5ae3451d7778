#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doclock/key.h"
#include "postgresql/client/values.h"

namespace doclock::postgresql {

// Documents and keys as PostgreSQL can keep them.

/// A text without U+0000, which PostgreSQL has not: U+0000 and U+0001 become two characters each,
/// and texts keep their order.
std::string Escaped(std::string_view text);
/// The inverse of Escaped.
std::string Unescaped(std::string_view text);

/// A body as the columns keep it.
struct StoredBody {
  /// What `jsonb` takes: it loses none of the values, and none of the kinds of numbers.
  std::string json;
  /// Is `json` not all of it? Then the body's own text is kept too. (Texts in `json` are Escaped
  /// then, and -0.0 is 0.0.)
  bool is_changed = false;
};
/// @param text is JSON.
StoredBody ToStored(const std::string& text);

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
