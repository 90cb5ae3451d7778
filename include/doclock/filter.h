#pragma once

/// @file
/// Filter: which documents a search selects, in which order, and how many.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doclock/document.h"
#include "doclock/export.h"

namespace doclock {

class Filter;
namespace detail {
/// Takes `field` for the key's name, and where keys are UUIDs, texts compared with it for UUIDs.
/// @throws std::invalid_argument if such a text is none, or After() lacks the value that the order
/// needs
DOCLOCK_EXPORT Filter WithKeyField(Filter filter, std::string_view field, bool uuid_keys);
/// Returns the filter's conditions and lock state, for the document with this key alone.
DOCLOCK_EXPORT Filter OfKey(Filter filter, const Key& key);
/// Is the path that of the key?
DOCLOCK_EXPORT bool IsKeyPath(const std::vector<std::string>& path) noexcept;

/// A value to compare with: what has a JSON form in this file of source, or a Key. The error for
/// anything else is a sentence.
class DOCLOCK_EXPORT FilterValue {
 public:
  /// Null.
  FilterValue() = default;
  /// A key, as KeyToMember writes it. (Its JSON form, which a file of source may specialise later,
  /// is not looked at.)
  FilterValue(const Key& key);  // NOLINT(google-explicit-constructor)
  /// Lists of values, as nlohmann::json takes them.
  FilterValue(nlohmann::json::initializer_list_t list)  // NOLINT(google-explicit-constructor)
      : value_(list) {}
  /// Converts.
  template <class V>
    requires(!std::same_as<V, Key>) &&
            (std::constructible_from<nlohmann::json, const V&> && !Character<V>)
  FilterValue(const V& value)  // NOLINT(google-explicit-constructor)
      : value_(value) {}
  /// Says what is wrong with any other value.
  template <class V>
    requires(!std::same_as<V, Key>) &&
            (!std::constructible_from<nlohmann::json, const V&> || Character<V>)
  FilterValue(const V&) {  // NOLINT(google-explicit-constructor)
    static_assert(!Character<V>,
                  "doclock: a character is neither a text nor a number, so no field equals it. "
                  "Pass a text, as \"a\", or a number.");
    static_assert(Character<V>,
                  "doclock: the value has no JSON form. Include doclock/json_types.h for times and "
                  "durations, Uuid, ObjectId, std::optional and the like, or give the type a "
                  "to_json function.");
  }

  /// Gives the value away.
  [[nodiscard]] nlohmann::json Take() && { return std::move(value_); }

 private:
  nlohmann::json value_;
};
}  // namespace detail

/// Selects documents: conditions on fields of the body (all must hold), an order and a limit.
///
/// `Filter{}.Equal("status", "queued").AtMost("due", now).OrderBy("due").Limit(10)`
///
/// A field is a name, or names joined by dots for nested objects. A missing field equals null and
/// is in no range. Values compare within their type only: numbers by value, strings by code unit,
/// false before true; a condition on a value of another type does not hold. Date, Binary, ObjectId
/// and Decimal128 are values too. Other objects and arrays equal no value. User values are
/// compared, never evaluated. Pass a Key, or any type that has a JSON form: with
/// doclock/json_types.h also times, a Uuid or an ObjectId.
///
/// The field `_id` (kKeyField) is the document's key: a text, a number, an ObjectId, or for a UUID
/// `Binary::FromUuid`. No body has a member of this name. Where T knows its key,
/// LockingRepository<T> takes `EntityTraits<T>::kKeyField` (`id`) for it too.
///
/// A value type; not thread-safe while it is being built.
class DOCLOCK_EXPORT Filter {
 public:
  /// How a condition compares.
  enum class Op : std::uint8_t { kEqual, kNotEqual, kLess, kAtMost, kGreater, kAtLeast, kDue };
  /// One condition.
  struct Condition {
    std::vector<std::string> path;  ///< The field, outermost name first.
    Op op = Op::kEqual;             ///< How to compare.
    nlohmann::json value;           ///< With what: null, bool, number, string or typed. With
                                    ///< kDue the last date there is.
  };
  /// Which lock states match.
  enum class LockState : std::uint8_t { kAny, kFree, kLocked };
  /// A place between two documents of the filter's order.
  struct Position {
    Key key;               ///< The key of the document before it.
    nlohmann::json value;  ///< What that document had in the field of the order; null without one.
  };

  /// The name of the key in conditions and orders.
  static constexpr std::string_view kKeyField = "_id";

  /// Every document.
  Filter() = default;

  /// Adds the condition: the field equals the value. @throws std::invalid_argument if the field is
  /// empty, or the value is an array, binary, NaN, or an object other than a Date, Binary, ObjectId
  /// or Decimal128 is. (Likewise for the other conditions.)
  Filter& Equal(std::string_view field, detail::FilterValue value) &;
  /// Adds the condition: the field is missing or differs.
  Filter& NotEqual(std::string_view field, detail::FilterValue value) &;
  /// Adds the condition: the field is less.
  Filter& Less(std::string_view field, detail::FilterValue value) &;
  /// Adds the condition: the field is less or equal.
  Filter& AtMost(std::string_view field, detail::FilterValue value) &;
  /// Adds the condition: the field is greater.
  Filter& Greater(std::string_view field, detail::FilterValue value) &;
  /// Adds the condition: the field is greater or equal.
  Filter& AtLeast(std::string_view field, detail::FilterValue value) &;
  /// Adds the condition: the field is a Date, and the *store's* clock has reached it. So programs
  /// whose clocks differ agree on what is due. A missing field, and a value of another type, is
  /// never due. The clock is that of MongoDB's or PostgreSQL's server, of a RecordStore
  /// (RecordTime), and else of this machine, or Clock::WallTime of the clock that the store was
  /// given.
  Filter& Due(std::string_view field) &;
  /// Orders ascending by this field: missing and null first, then numbers, strings, booleans,
  /// dates, binary data, ObjectIds, decimals (on MongoDB: among the numbers), the rest (objects,
  /// arrays, symbols and other rare types). Ties go by key, upwards. Without an order documents
  /// come by key. Which kind of key comes first is the store's own choice; SQLite sorts UUIDs and
  /// ObjectIds together, by their bytes. May be called once per filter.
  Filter& OrderBy(std::string_view field) &;
  /// Orders descending by this field; ties go by key, upwards.
  Filter& OrderByDescending(std::string_view field) &;
  /// Selects what comes behind the document with this key, which need not exist any more, in the
  /// order of keys. With an order by a field the verbs that use the filter throw
  /// std::invalid_argument.
  Filter& After(Key key) &;
  /// Selects what comes behind the document with this key, which need not exist any more, in the
  /// filter's order. `value` is what the document had in the field of the order; null if it was
  /// missing.
  Filter& After(Key key, detail::FilterValue value) &;
  /// Selects at most this many documents. @throws std::invalid_argument below 1
  Filter& Limit(std::int64_t count) &;
  /// Selects only documents that are not locked.
  Filter& Free() &;
  /// Selects only documents that are locked.
  Filter& Locked() &;

  /// Adds the condition: the field equals the value.
  Filter&& Equal(std::string_view field, detail::FilterValue value) && {
    return std::move(Equal(field, std::move(value)));
  }
  /// Adds the condition: the field is missing, or differs from the value.
  Filter&& NotEqual(std::string_view field, detail::FilterValue value) && {
    return std::move(NotEqual(field, std::move(value)));
  }
  /// Adds the condition: the field is less than the value.
  Filter&& Less(std::string_view field, detail::FilterValue value) && {
    return std::move(Less(field, std::move(value)));
  }
  /// Adds the condition: the field is at most the value.
  Filter&& AtMost(std::string_view field, detail::FilterValue value) && {
    return std::move(AtMost(field, std::move(value)));
  }
  /// Adds the condition: the field is greater than the value.
  Filter&& Greater(std::string_view field, detail::FilterValue value) && {
    return std::move(Greater(field, std::move(value)));
  }
  /// Adds the condition: the field is at least the value.
  Filter&& AtLeast(std::string_view field, detail::FilterValue value) && {
    return std::move(AtLeast(field, std::move(value)));
  }
  /// Adds the condition: the field is a Date that the store's clock has reached.
  Filter&& Due(std::string_view field) && { return std::move(Due(field)); }
  /// Orders ascending by this field; ties go by key, upwards.
  Filter&& OrderBy(std::string_view field) && { return std::move(OrderBy(field)); }
  /// Orders descending by this field; ties go by key, upwards.
  Filter&& OrderByDescending(std::string_view field) && {
    return std::move(OrderByDescending(field));
  }
  /// Selects the documents behind this key, in the order of keys.
  Filter&& After(Key key) && { return std::move(After(std::move(key))); }
  /// Selects the documents behind this key and this value of the ordering field.
  Filter&& After(Key key, detail::FilterValue value) && {
    return std::move(After(std::move(key), std::move(value)));
  }
  /// Selects at most this many documents. @throws std::invalid_argument below 1
  Filter&& Limit(std::int64_t count) && { return std::move(Limit(count)); }
  /// Selects only documents that are not locked.
  Filter&& Free() && { return std::move(Free()); }
  /// Selects only documents that are locked.
  Filter&& Locked() && { return std::move(Locked()); }

  /// Deleted: a count is a whole number.
  template <class N>
    requires(std::floating_point<N> || std::same_as<N, bool> || Character<N>)
  Filter& Limit(N count) = delete;

  /// Whether a body meets every condition except those on the key. Ignores lock state, order,
  /// position and limit, and compares Due with this machine's clock.
  [[nodiscard]] bool Matches(const nlohmann::json& body) const { return Meets(nullptr, body); }
  /// Whether a key and its body meet every condition. Compares Due with this machine's clock.
  [[nodiscard]] bool Matches(const Key& key, const nlohmann::json& body) const {
    return Meets(&key, body);
  }

  /// Is Due among the conditions?
  [[nodiscard]] bool has_due() const noexcept;
  /// For stores: returns the same filter with AtMost(field, `now`) in place of each Due.
  [[nodiscard]] Filter DueAt(std::chrono::system_clock::time_point now) const;
  /// For stores: returns a filter of the free document that falls due first after `now`, and meets
  /// all other conditions; its order is that of the date. Nothing unless there is one Due.
  [[nodiscard]] std::optional<Filter> FirstDueAfter(
      std::chrono::system_clock::time_point now) const;

  /// Returns the conditions.
  [[nodiscard]] const std::vector<Condition>& conditions() const noexcept { return conditions_; }
  /// Returns the field to order by; empty, or kKeyField alone: the key, in the direction of
  /// descending().
  [[nodiscard]] const std::vector<std::string>& order() const noexcept { return order_; }
  /// Descending?
  [[nodiscard]] bool descending() const noexcept { return descending_; }
  /// Returns the place behind which documents match; empty: all do.
  [[nodiscard]] const std::optional<Position>& after() const noexcept { return after_; }
  /// Returns the limit; 0 for none.
  [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }
  /// Returns the lock condition.
  [[nodiscard]] LockState lock_state() const noexcept { return lock_state_; }

 private:
  friend Filter detail::WithKeyField(Filter filter, std::string_view field, bool uuid_keys);
  friend Filter detail::OfKey(Filter filter, const Key& key);
  Filter& Add(std::string_view field, Op op, nlohmann::json value);
  Filter& SetOrder(std::string_view field, bool descending);
  [[nodiscard]] bool Meets(const Key* key, const nlohmann::json& body) const;

  std::vector<Condition> conditions_;
  std::vector<std::string> order_;
  bool ordered_ = false;
  bool descending_ = false;
  std::optional<Position> after_;
  bool after_key_alone_ = false;
  std::int64_t limit_ = 0;
  LockState lock_state_ = LockState::kAny;
};

/// Returns the value at `path` in `body`; a reference to null when it is missing.
DOCLOCK_EXPORT const nlohmann::json& ValueAt(const nlohmann::json& body,
                                             const std::vector<std::string>& path) noexcept;
/// Three-way comparison in the order OrderBy uses: negative, zero or positive.
DOCLOCK_EXPORT int CompareValues(const nlohmann::json& a, const nlohmann::json& b) noexcept;

}  // namespace doclock
