#include "document/json/number_parts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace doclock::detail {

std::optional<NumberParts> NumberParts::Of(std::string_view literal) {
  constexpr std::int64_t kFarthest = 1'000'000'000;
  std::int64_t exponent = 0;
  const std::size_t e = std::min(literal.find_first_of("eE"), literal.size());
  if (e < literal.size()) {
    const std::size_t sign = literal[e + 1] == '+' ? 1 : 0;
    const auto read =
        std::from_chars(literal.data() + e + 1 + sign, literal.data() + literal.size(), exponent);
    if (read.ec != std::errc() || std::abs(exponent) > kFarthest) return std::nullopt;
  }
  NumberParts parts;
  const std::size_t begin = literal.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(literal.find('.'), e);
  parts.digits = literal.substr(begin, point - begin);
  if (point < e) parts.digits += literal.substr(point + 1, e - point - 1);
  parts.before_point = static_cast<std::int64_t>(point - begin) + exponent;
  parts.behind_point = std::max<std::int64_t>(
      0, static_cast<std::int64_t>(parts.digits.size()) - parts.before_point);
  const std::size_t zeros = std::min(parts.digits.find_first_not_of('0'), parts.digits.size());
  parts.digits.erase(0, zeros);
  parts.digits.erase(parts.digits.find_last_not_of('0') + 1);
  parts.before_point =
      parts.digits.empty() ? 0 : parts.before_point - static_cast<std::int64_t>(zeros);
  parts.is_negative = begin == 1 && !parts.digits.empty();
  return parts;
}

}  // namespace doclock::detail
