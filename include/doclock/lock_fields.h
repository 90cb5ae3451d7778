#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "doclock/uuid.h"

namespace doclock {

/// The lock's data that an entity can carry, so that another thread or process can release the lock
/// with the entity alone. Make it a member, and name that member in `EntityTraits<T>::kLockFields`.
///
/// The library fills it when a lock is granted and after each Save, and empties `id` and `time`
/// when the lock is released. It is not part of T's JSON form, because the store keeps the lock
/// elsewhere: leave it out of the NLOHMANN_DEFINE_TYPE macro. A member that the macro names is
/// stored in the body like any other (`doclock/json/lock_fields.h` gives it a form, for messages),
/// with the id of a lock that is over by then.
struct LockFields {
  /// The grant's id; empty means not locked, and a release by value is refused.
  std::optional<Uuid> id;
  /// Wall time of the grant; diagnostic only.
  std::optional<std::chrono::system_clock::time_point> time;
  /// The document's version after the last grant or write this entity knows of.
  std::int64_t version = 0;
  /// Compares all three.
  friend bool operator==(const LockFields&, const LockFields&) = default;
};

}  // namespace doclock
