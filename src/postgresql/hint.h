#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doclock::postgresql {

/// What a store tells the others of a lock that became free, or was granted from the queue.
struct Hint {
  std::size_t hash = 0;       ///< Of the key.
  std::int64_t instance = 0;  ///< The store whose waiter was granted it; 0: it became free.
  std::string row = {};       ///< Of a grant: where its row stands (ctid).

  [[nodiscard]] std::string ToText() const {
    return std::to_string(hash) + ' ' + std::to_string(instance) + ' ' + row;
  }
  /// Nothing if it is no hint.
  static std::optional<Hint> FromText(std::string_view text) {
    Hint hint;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, hint.hash);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, hint.instance);
    if (second.ec != std::errc() || second.ptr == end || *second.ptr != ' ') return std::nullopt;
    hint.row.assign(second.ptr + 1, end);
    return hint;
  }
};

}  // namespace doclock::postgresql
