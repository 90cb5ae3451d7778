#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "doclock/export.h"
#include "doclock/uuid.h"

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

}  // namespace doclock
