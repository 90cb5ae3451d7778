#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "doclock/uuid.h"

namespace doclock {

/// What an entity can carry of its own lock, so that it can be released from the entity alone, by
/// another thread or another process: make it a member, and name that member in
/// `EntityTraits<T>::kLockFields`.
///
/// The library fills it when a lock is granted and after each Save, and empties `id` and `time`
/// when the lock is released. It is not part of T's JSON form: the store keeps the lock elsewhere.
struct LockFields {
  /// The grant's id; empty means not locked, and then a release by value is refused.
  std::optional<Uuid> id;
  /// Wall time of the grant, for people.
  std::optional<std::chrono::system_clock::time_point> time;
  /// The document's version after the last grant or write this entity knows of.
  std::int64_t version = 0;
  /// Compares all three.
  friend bool operator==(const LockFields&, const LockFields&) = default;
};

}  // namespace doclock
