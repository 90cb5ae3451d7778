#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "doclock/export.h"

namespace doclock::detail {

/// Valid UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF)? Fast on ASCII.
[[nodiscard]] DOCLOCK_EXPORT bool IsUtf8(std::string_view text) noexcept;
/// Are all names and strings of the tree valid UTF-8?
[[nodiscard]] bool AllTextIsUtf8(const nlohmann::json& tree) noexcept;

/// A code point and its length in bytes.
struct Utf8Character {
  std::size_t length = 0;  ///< 0: not UTF-8.
  char32_t code = 0;
};
/// The first character of a text that is not empty.
[[nodiscard]] DOCLOCK_EXPORT Utf8Character FirstCharacter(std::string_view text) noexcept;

/// Could a terminal that shows this character move its cursor, start a line, turn the direction of
/// what follows, or show nothing at all?
[[nodiscard]] DOCLOCK_EXPORT bool IsControl(char32_t code) noexcept;

/// Appends `text`. Control characters and bytes that are not UTF-8 are written `\x1b`.
DOCLOCK_EXPORT void AppendEscaped(std::string& out, std::string_view text);
/// A name or a path as it goes into a message: quoted, escaped, and not longer than a line.
DOCLOCK_EXPORT std::string QuotedName(std::string_view name);

}  // namespace doclock::detail
