#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace doclock::detail {

/// A decimal128 taken apart: the number is (negative ? -1 : 1) · digits · 10^exponent.
struct DecimalParts {
  enum class Kind : unsigned char { kNaN, kFinite, kInfinity };
  Kind kind = Kind::kFinite;
  bool negative = false;
  std::string digits;  ///< 1 to 34, without zeros in front; "0" for zero.
  int exponent = 0;    ///< -6176 to 6111.
};

/// Nothing for text that is no number, or that decimal128 cannot hold exactly.
std::optional<DecimalParts> ParseDecimal(std::string_view text);
/// As the specification of BSON's Decimal128 prints it.
std::string PrintDecimal(const DecimalParts& parts);
/// By value: negative, zero or positive. NaN is the least, and equals itself.
int CompareDecimals(const DecimalParts& a, const DecimalParts& b);

}  // namespace doclock::detail
