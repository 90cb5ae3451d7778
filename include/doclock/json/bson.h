#pragma once

/// @file
/// Values that BSON has and JSON lacks. A Date, which is one too, is in doclock/time.h.

#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/document.h"
#include "doclock/export.h"

namespace doclock {

/// Bytes, with MongoDB's subtype: 0 for any bytes, 4 for a UUID, 128 and above for the user's own.
/// As JSON it is canonical Extended JSON, `{"$binary": {"base64": "AAEC", "subType": "00"}}`; the
/// MongoDB store keeps it as binary data, the other stores keep that JSON. A Filter compares
/// binaries by length, subtype and bytes. A value type.
struct DOCLOCK_EXPORT Binary {
  /// The bytes.
  std::vector<std::uint8_t> bytes;
  /// The kind of bytes. (2 is an old form of 0: MongoDB puts the length before the bytes.)
  std::uint8_t subtype = 0;

  /// Returns the UUID's bytes with subtype 4.
  static Binary FromUuid(const Uuid& id);
  /// Returns its UUID. @throws std::invalid_argument unless it is 16 bytes of subtype 4.
  [[nodiscard]] Uuid ToUuid() const;

  /// Compares by length, subtype and bytes, as MongoDB does.
  friend DOCLOCK_EXPORT std::strong_ordering operator<=>(const Binary& a, const Binary& b) noexcept;
  /// See operator<=>.
  friend bool operator==(const Binary&, const Binary&) noexcept = default;
};

/// Canonical Extended JSON.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const Binary& binary);
/// From canonical Extended JSON. @throws std::invalid_argument if it is no binary.
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, Binary& binary);

/// A decimal number of up to 34 digits (IEEE 754 decimal128), for amounts of money. It can be
/// stored and compared; there is no arithmetic. 1.0 and 1.00 are equal numbers that keep their own
/// digits.
///
/// As JSON it is canonical Extended JSON, `{"$numberDecimal": "12.50"}`; the MongoDB store keeps it
/// as a decimal, the other stores keep that JSON. A Filter compares decimals by value; on MongoDB
/// it compares them with other numbers too, elsewhere with decimals only. A value type.
class DOCLOCK_EXPORT Decimal128 {
 public:
  /// 0.
  Decimal128() = default;
  /// From text: `12.50`, `-1E+3`, `Infinity`, `NaN`. @throws std::invalid_argument if it is no
  /// number, or has more digits or a greater exponent than can be kept exactly.
  explicit Decimal128(std::string_view text);
  /// A whole number.
  explicit Decimal128(std::int64_t number);
  // A move is a copy: a number that was moved from is still one.
  /// Copies.
  Decimal128(const Decimal128&) = default;
  /// Copies.
  Decimal128& operator=(const Decimal128&) = default;

  /// Returns the number as MongoDB prints it; Decimal128 reads the same number from it.
  [[nodiscard]] const std::string& ToString() const noexcept { return text_; }

  /// Compares by value; NaN is the least, and equals itself.
  friend DOCLOCK_EXPORT std::weak_ordering operator<=>(const Decimal128& a,
                                                       const Decimal128& b) noexcept;
  /// Compares by value.
  friend bool operator==(const Decimal128& a, const Decimal128& b) noexcept {
    return (a <=> b) == 0;
  }

 private:
  std::string text_ = "0";
};

/// Canonical Extended JSON.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const Decimal128& number);
/// From canonical Extended JSON, or a whole number. @throws std::invalid_argument if it is neither.
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, Decimal128& number);

}  // namespace doclock
