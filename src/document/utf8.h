#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "doclock/export.h"

namespace doclock::detail {

/// Valid UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF)? Fast on ASCII.
[[nodiscard]] DOCLOCK_EXPORT bool IsUtf8(std::string_view text) noexcept;
/// The same of all names and strings in a tree.
[[nodiscard]] bool AllTextIsUtf8(const nlohmann::json& tree) noexcept;

/// Appends `text`, which is valid UTF-8, with its control characters made visible.
void AppendEscaped(std::string& out, std::string_view text);

}  // namespace doclock::detail
