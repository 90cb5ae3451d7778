#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/export.h"

namespace doclock::detail {

/// With padding, on one line.
DOCLOCK_EXPORT std::string EncodeBase64(std::span<const std::uint8_t> bytes);
/// The bytes; nothing unless the text is exactly what EncodeBase64 writes.
DOCLOCK_EXPORT std::optional<std::vector<std::uint8_t>> DecodeBase64(std::string_view text);
/// Is it exactly what EncodeBase64 writes?
bool IsBase64(std::string_view text) noexcept;

}  // namespace doclock::detail
