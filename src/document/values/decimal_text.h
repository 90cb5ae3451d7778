#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doclock/export.h"

namespace doclock::detail {

/// A decimal128 taken apart: the number is (negative ? -1 : 1) · digits · 10^exponent.
struct DecimalParts {
  enum class Kind : unsigned char { kNaN, kFinite, kInfinity };
  Kind kind = Kind::kFinite;
  bool negative = false;
  std::string digits;  ///< 1 to 34, without zeros in front; "0" for zero.
  int exponent = 0;    ///< -6176 to 6111.
};

/// Reads a number. Nothing if the text is no number, or decimal128 cannot hold it exactly.
DOCLOCK_EXPORT std::optional<DecimalParts> ParseDecimal(std::string_view text);
/// The number, if it is a whole one of 64 bits.
DOCLOCK_EXPORT std::optional<std::int64_t> WholeNumber(const DecimalParts& parts);
/// The number as the specification of BSON's Decimal128 prints it.
std::string PrintDecimal(const DecimalParts& parts);
/// Compares by value: negative, zero or positive. NaN is the least, and equals itself.
int CompareDecimals(const DecimalParts& a, const DecimalParts& b);

}  // namespace doclock::detail
