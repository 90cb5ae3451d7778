#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "doclock/export.h"

namespace doclock::detail {

/// The value of a number in JSON text: 0.DIGITS times 10 to the power of `before_point`.
struct NumberParts {
  bool is_negative = false;
  std::string digits;  ///< Without zeros at the ends; of zero there are none, nor a sign.
  std::int64_t before_point = 0;
  std::int64_t behind_point = 0;  ///< The digits behind the point, as it is written in full.

  /// Nothing if the exponent is beyond a billion.
  /// @param literal a JSON number
  DOCLOCK_EXPORT static std::optional<NumberParts> Of(std::string_view literal);

  [[nodiscard]] bool IsSameValue(const NumberParts& other) const {
    return is_negative == other.is_negative && digits == other.digits &&
           before_point == other.before_point;
  }
};

}  // namespace doclock::detail
