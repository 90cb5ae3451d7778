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

/// Appends the byte as `\x1b`.
DOCLOCK_EXPORT void AppendHex(std::string& out, unsigned char byte);
/// Appends `text`, which is valid UTF-8, with its control characters made visible.
void AppendEscaped(std::string& out, std::string_view text);

}  // namespace doclock::detail
