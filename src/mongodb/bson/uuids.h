#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Binaries compare by length, subtype and bytes: what lies between two UUIDs is a UUID, of the
// subtype of one of them.

/// The lowest UUID, and the highest.
Uuid LowestUuid() noexcept;
Uuid HighestUuid() noexcept;

/// A UUID of subtype 3, as drivers wrote them before there was subtype 4.
Doc& AddLegacyUuid(Doc& doc, std::string_view name, const Uuid& id);
bool IsLegacyUuid(const bson_iter_t& value);

/// Names a waiter in a document's queue: the id of its store instance, then its lock id. Each
/// instance asks its change streams for the wake ids that begin with its own id.
class WakeId {
 public:
  WakeId(const Uuid& instance, const Uuid& lock_id) noexcept;
  /// Adds it to a document. @throws DocumentException
  void AddTo(Doc& doc, std::string_view name) const;
  /// Reads the lock id of a wake id; nothing if the value is none.
  static std::optional<Uuid> LockIdIn(const bson_iter_t& value);
  /// A condition of a filter: the wake ids of this instance.
  static Doc AllOf(const Uuid& instance);
  /// The same as an expression, of a field.
  static Doc IsOf(const Uuid& instance, const std::string& field);

 private:
  static constexpr std::size_t kSize = 32;
  std::array<std::uint8_t, kSize> data_{};
};

}  // namespace doclock::mongodb
