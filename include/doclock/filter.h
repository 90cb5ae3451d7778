#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "doclock/export.h"

namespace doclock {

/// Selects documents: conditions on fields of the body (all must hold), an order and a limit.
///
/// `Filter{}.Equal("status", "queued").AtMost("due", now).OrderBy("due").Limit(10)`
///
/// A field is a name, or names joined by dots for nested objects. A missing field equals null and
/// is in no range. Values compare within their type only: numbers by value, strings by code unit,
/// false before true; a condition on a value of another type does not hold. Date, Binary, ObjectId
/// and Decimal128 are values too. User values are compared, never evaluated. A value type;
/// not thread-safe while it is being built.
class DOCLOCK_EXPORT Filter {
 public:
  /// How a condition compares.
  enum class Op : std::uint8_t { kEqual, kNotEqual, kLess, kAtMost, kGreater, kAtLeast };
  /// One condition.
  struct Condition {
    std::vector<std::string> path;  ///< The field, outermost name first.
    Op op = Op::kEqual;             ///< How to compare.
    nlohmann::json value;           ///< With what: null, bool, number, string or typed.
  };
  /// Which lock states match.
  enum class LockState : std::uint8_t { kAny, kFree, kLocked };

  /// Every document.
  Filter() = default;

  /// Adds the condition: the field equals the value. @throws std::invalid_argument if the field is
  /// empty, or the value is an array, binary, NaN, or an object other than a Date, Binary, ObjectId
  /// or Decimal128 is. (Likewise for the other conditions.)
  Filter& Equal(std::string_view field, nlohmann::json value) &;
  /// Adds the condition: the field is missing or differs.
  Filter& NotEqual(std::string_view field, nlohmann::json value) &;
  /// Adds the condition: the field is less.
  Filter& Less(std::string_view field, nlohmann::json value) &;
  /// Adds the condition: the field is less or equal.
  Filter& AtMost(std::string_view field, nlohmann::json value) &;
  /// Adds the condition: the field is greater.
  Filter& Greater(std::string_view field, nlohmann::json value) &;
  /// Adds the condition: the field is greater or equal.
  Filter& AtLeast(std::string_view field, nlohmann::json value) &;
  /// Ascending by this field: missing and null first, then numbers, strings, booleans, dates,
  /// binary data, ObjectIds, decimals (on MongoDB: among the numbers), the rest.
  /// Ties go by key. Which kind of key comes first is the store's own choice; SQLite sorts UUIDs
  /// and ObjectIds together, by their bytes. May be called once per filter.
  Filter& OrderBy(std::string_view field) &;
  /// Descending by this field.
  Filter& OrderByDescending(std::string_view field) &;
  /// At most this many documents; at least 1.
  Filter& Limit(std::int64_t count) &;
  /// Only documents that are not locked.
  Filter& Free() &;
  /// Only documents that are locked.
  Filter& Locked() &;

  /// For temporaries.
  Filter&& Equal(std::string_view field, nlohmann::json value) && {
    return std::move(Equal(field, std::move(value)));
  }
  /// For temporaries.
  Filter&& NotEqual(std::string_view field, nlohmann::json value) && {
    return std::move(NotEqual(field, std::move(value)));
  }
  /// For temporaries.
  Filter&& Less(std::string_view field, nlohmann::json value) && {
    return std::move(Less(field, std::move(value)));
  }
  /// For temporaries.
  Filter&& AtMost(std::string_view field, nlohmann::json value) && {
    return std::move(AtMost(field, std::move(value)));
  }
  /// For temporaries.
  Filter&& Greater(std::string_view field, nlohmann::json value) && {
    return std::move(Greater(field, std::move(value)));
  }
  /// For temporaries.
  Filter&& AtLeast(std::string_view field, nlohmann::json value) && {
    return std::move(AtLeast(field, std::move(value)));
  }
  /// For temporaries.
  Filter&& OrderBy(std::string_view field) && { return std::move(OrderBy(field)); }
  /// For temporaries.
  Filter&& OrderByDescending(std::string_view field) && {
    return std::move(OrderByDescending(field));
  }
  /// For temporaries.
  Filter&& Limit(std::int64_t count) && { return std::move(Limit(count)); }
  /// For temporaries.
  Filter&& Free() && { return std::move(Free()); }
  /// For temporaries.
  Filter&& Locked() && { return std::move(Locked()); }

  /// Does a body meet every condition? Ignores lock state, order and limit.
  [[nodiscard]] bool Matches(const nlohmann::json& body) const;

  /// Returns the conditions.
  [[nodiscard]] const std::vector<Condition>& conditions() const noexcept { return conditions_; }
  /// Returns the field to order by; empty for none.
  [[nodiscard]] const std::vector<std::string>& order() const noexcept { return order_; }
  /// Descending?
  [[nodiscard]] bool descending() const noexcept { return descending_; }
  /// Returns the limit; 0 for none.
  [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }
  /// Returns the lock condition.
  [[nodiscard]] LockState lock_state() const noexcept { return lock_state_; }

 private:
  Filter& Add(std::string_view field, Op op, nlohmann::json value);
  Filter& SetOrder(std::string_view field, bool descending);

  std::vector<Condition> conditions_;
  std::vector<std::string> order_;
  bool descending_ = false;
  std::int64_t limit_ = 0;
  LockState lock_state_ = LockState::kAny;
};

/// Returns the value at `path` in `body`; a reference to null when it is missing.
DOCLOCK_EXPORT const nlohmann::json& ValueAt(const nlohmann::json& body,
                                             const std::vector<std::string>& path) noexcept;
/// Three-way comparison in the order OrderBy uses: negative, zero or positive.
DOCLOCK_EXPORT int CompareValues(const nlohmann::json& a, const nlohmann::json& b) noexcept;

}  // namespace doclock
