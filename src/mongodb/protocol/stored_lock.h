#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doclock/options.h"
#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// Far above what can be asked for; the sum with a date does not overflow.
inline constexpr std::int64_t kLongestTtlMs = std::int64_t{1000} * 3600 * 24 * 365;
/// A lease that began before is none: the server cannot tell its age.
inline constexpr std::int64_t kEarliestMs = -(std::int64_t{1} << 62);
/// No longer time is told, however far apart two dates are: others add it to a date, or make
/// nanoseconds of it.
inline constexpr std::int64_t kLongestTimeMs = 100 * kLongestTtlMs;
inline constexpr std::int64_t kHighestVersion = std::int64_t{1} << 62;

/// One holder of a shared lock, judged by the server's clock.
struct StoredShare {
  Uuid id{};
  LockHolder holder;
  std::string group;
  std::optional<std::int64_t> fence;  ///< None: it was written by an older version.
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds left{};  ///< Zero: its lease is over.
  std::chrono::milliseconds age{};   ///< Since its grant or last renewal.
  [[nodiscard]] bool live() const noexcept { return left.count() > 0; }
};

/// A waiting writer.
struct StoredIntent {
  Uuid id{};
  std::chrono::milliseconds left{};  ///< Zero: it has lapsed.
};

/// The lock fields of one document, judged by the server's clock.
struct StoredLock {
  enum class State : std::uint8_t {
    kFree,       ///< Nobody holds it.
    kLive,       ///< Somebody does.
    kExpired,    ///< The lease of whoever held it is over.
    kMalformed,  ///< Somebody wrote something else into the lock fields.
  };

  State state = State::kFree;
  std::string bad_field;  ///< Of kMalformed: the field.
  Doc id;                 ///< { lockId: as stored }: what a steal has to see again.
  Uuid lock_id{};         ///< Nil when there is none.
  std::int64_t version = 0;
  Uuid born{};
  Uuid released{};
  LockHolder holder;
  std::chrono::milliseconds remaining{};    ///< Of a live lock.
  std::chrono::milliseconds closed_left{};  ///< Above zero: min_hold keeps everybody out.
  Doc closed;                               ///< { lockClosed: as stored }, or empty.
  bool has_closed = false;                  ///< Is there such a field, null or not?

  std::vector<StoredShare> shares;  ///< Whatever lockId says.
  bool has_readers = false;         ///< Is there such a field, null or not?
  bool has_intent = false;          ///< Likewise.
  std::optional<StoredIntent> intent;

  [[nodiscard]] bool live() const noexcept { return state == State::kLive; }
  [[nodiscard]] bool shared() const noexcept { return lock_id == kSharedLockId; }
  /// Null: there is none of that id, or its lease is over.
  [[nodiscard]] const StoredShare* LiveShare(const Uuid& share) const noexcept;
  /// Does the document show that this grant holds it?
  [[nodiscard]] bool Shows(const GrantRequest& grant) const noexcept {
    return grant.mode == LockMode::kShared ? LiveShare(grant.lock_id) != nullptr
                                           : lock_id == grant.lock_id;
  }
  [[nodiscard]] bool takeable() const noexcept {
    return (state == State::kFree || state == State::kExpired) && closed_left.count() <= 0;
  }
};

/// How long ago a date was, in ms; 0 if it is to come. At most kLongestTimeMs.
std::int64_t Since(std::int64_t date, std::int64_t now) noexcept;

/// @param now the server's clock ($$NOW), in ms, from the same command as the document.
StoredLock ReadStoredLock(const bson_t& doc, const Collection& collection, std::int64_t now);

}  // namespace doclock::mongodb
