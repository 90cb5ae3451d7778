#include "doclock/filter.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "doclock/document.h"
#include "doclock/json/bson.h"
#include "doclock/json/key.h"
#include "doclock/json/uuid.h"
#include "doclock/time.h"
#include "document/json/typed_value.h"
#include "document/values/utf8.h"

namespace doclock {
namespace {

using nlohmann::json;

std::vector<std::string> SplitPath(std::string_view field) {
  if (field.empty()) throw std::invalid_argument("doclock::Filter: the field is empty");
  // A leading '$' is an operator to some databases; no body has such a field.
  if (field.front() == '$' || field.find('\0') != field.npos || !detail::IsUtf8(field)) {
    throw std::invalid_argument(
        "doclock::Filter: the field begins with '$', holds NUL or is not valid UTF-8");
  }
  std::vector<std::string> path;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(field.find('.', begin), field.size());
    if (begin == end)
      throw std::invalid_argument("doclock::Filter: the field has an empty name between dots");
    path.emplace_back(field.substr(begin, end - begin));
    if (path.size() > static_cast<std::size_t>(kMaxBodyDepth)) {
      throw std::invalid_argument("doclock::Filter: the field has more than " +
                                  std::to_string(kMaxBodyDepth) +
                                  " names, and no body has as many levels");
    }
    if (end == field.size()) return path;
    begin = end + 1;
    if (begin == field.size())
      throw std::invalid_argument("doclock::Filter: the field ends with a dot");
  }
}

void CheckValue(std::string_view field, const json& value) {
  const auto refuse = [&](const char* what) {
    throw std::invalid_argument("doclock::Filter: the value for \"" + std::string(field) +
                                "\" is " + what);
  };
  if (value.is_structured() && detail::KindOf(value) == detail::TypedKind::kNone) {
    refuse("an object or an array (as a Uuid is without doclock/json_types.h)");
  }
  if (value.is_binary() || value.is_discarded()) refuse("binary");
  if (value.is_number_float() && std::isnan(value.get<double>())) refuse("not a number");
  if (value.is_string() && !detail::IsUtf8(value.get_ref<const std::string&>())) {
    refuse("not valid UTF-8");
  }
}

/// Ranks of the types that are objects in JSON.
constexpr int kFirstTyped = 4, kRest = 8;

/// The order of types in OrderBy.
int Rank(const json& value) noexcept {
  if (value.is_null()) return 0;
  if (value.is_number()) return 1;
  if (value.is_string()) return 2;
  if (value.is_boolean()) return 3;
  switch (detail::KindOf(value)) {
    case detail::TypedKind::kDate:
      return kFirstTyped;
    case detail::TypedKind::kBinary:
      return kFirstTyped + 1;
    case detail::TypedKind::kObjectId:
      return kFirstTyped + 2;
    case detail::TypedKind::kDecimal:
      return kFirstTyped + 3;
    case detail::TypedKind::kNone:
      break;
  }
  return kRest;
}

template <class T>
int ThreeWay(const T& a, const T& b) noexcept {
  return a < b ? -1 : (b < a ? 1 : 0);
}

/// An integer of either signedness: the sign, and the magnitude's bits.
struct Integer {
  bool negative;
  std::uint64_t bits;
};

Integer IntegerOf(const json& value) noexcept {
  if (const auto* number = value.get_ptr<const json::number_unsigned_t*>()) return {false, *number};
  const auto number = *value.get_ptr<const json::number_integer_t*>();
  return {number < 0, static_cast<std::uint64_t>(number)};
}

int CompareIntegers(const Integer& a, const Integer& b) noexcept {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  return ThreeWay(a.bits, b.bits);  // two's complement: right for two negatives as well
}

/// Compares exactly; a conversion to double would make 2^53 and 2^53 + 1 equal.
int CompareMixed(const Integer& a, double b) noexcept {
  if (std::isnan(b)) return 1;
  if (b >= 18446744073709551616.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const double whole = std::trunc(b);
  const Integer integral =
      whole < 0 ? Integer{true, static_cast<std::uint64_t>(static_cast<std::int64_t>(whole))}
                : Integer{false, static_cast<std::uint64_t>(whole)};
  const int order = CompareIntegers(a, integral);
  return order != 0 ? order : ThreeWay(whole, b);
}

int CompareDoubles(double a, double b) noexcept {
  if (std::isnan(a) || std::isnan(b)) return ThreeWay(!std::isnan(a), !std::isnan(b));
  return ThreeWay(a, b);
}

int CompareNumbers(const json& a, const json& b) noexcept {
  const auto* x = a.get_ptr<const json::number_float_t*>();
  const auto* y = b.get_ptr<const json::number_float_t*>();
  if (x != nullptr && y != nullptr) return CompareDoubles(*x, *y);
  if (x != nullptr) return -CompareMixed(IntegerOf(b), *x);
  if (y != nullptr) return CompareMixed(IntegerOf(a), *y);
  return CompareIntegers(IntegerOf(a), IntegerOf(b));
}

bool InRange(const json& field, Filter::Op op, const json& value) noexcept {
  const int rank = Rank(field);
  if (rank == 0 || rank != Rank(value)) return false;
  const int order = CompareValues(field, value);
  switch (op) {
    case Filter::Op::kLess:
      return order < 0;
    case Filter::Op::kAtMost:
      return order <= 0;
    case Filter::Op::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

/// An object or an array equals no value of a condition.
bool Equals(const json& field, const json& value) noexcept {
  return Rank(field) == Rank(value) && CompareValues(field, value) == 0;
}

bool Holds(const json& field, const Filter::Condition& condition) {
  switch (condition.op) {
    case Filter::Op::kEqual:
      return Equals(field, condition.value);
    case Filter::Op::kNotEqual:
      return !Equals(field, condition.value);
    case Filter::Op::kDue:
      return InRange(field, Filter::Op::kAtMost, Date::Now());
    default:
      return InRange(field, condition.op, condition.value);
  }
}

}  // namespace

detail::FilterValue::FilterValue(const Key& key) : value_(KeyToMember(key)) {}

Filter& Filter::Add(std::string_view field, Op op, json value) {
  CheckValue(field, value);
  conditions_.push_back(Condition{SplitPath(field), op, std::move(value)});
  return *this;
}

Filter& Filter::Equal(std::string_view field, detail::FilterValue value) & {
  return Add(field, Op::kEqual, std::move(value).Take());
}
Filter& Filter::NotEqual(std::string_view field, detail::FilterValue value) & {
  return Add(field, Op::kNotEqual, std::move(value).Take());
}
Filter& Filter::Less(std::string_view field, detail::FilterValue value) & {
  return Add(field, Op::kLess, std::move(value).Take());
}
Filter& Filter::AtMost(std::string_view field, detail::FilterValue value) & {
  return Add(field, Op::kAtMost, std::move(value).Take());
}
Filter& Filter::Greater(std::string_view field, detail::FilterValue value) & {
  return Add(field, Op::kGreater, std::move(value).Take());
}
Filter& Filter::AtLeast(std::string_view field, detail::FilterValue value) & {
  return Add(field, Op::kAtLeast, std::move(value).Take());
}

Filter& Filter::Due(std::string_view field) & {
  return Add(field, Op::kDue, Date(Date::TimePoint::max()));
}

bool Filter::has_due() const noexcept {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [](const Condition& condition) { return condition.op == Op::kDue; });
}

Filter Filter::DueAt(std::chrono::system_clock::time_point now) const {
  Filter filter = *this;
  for (Condition& condition : filter.conditions_) {
    if (condition.op == Op::kDue) condition = {std::move(condition.path), Op::kAtMost, Date(now)};
  }
  return filter;
}

std::optional<Filter> Filter::FirstDueAfter(std::chrono::system_clock::time_point now) const {
  Filter first;
  for (const Condition& condition : conditions_) {
    if (condition.op != Op::kDue) {
      first.conditions_.push_back(condition);
    } else if (first.ordered_) {
      return std::nullopt;
    } else {
      first.conditions_.push_back({condition.path, Op::kGreater, Date(now)});
      first.order_ = condition.path;
      first.ordered_ = true;
    }
  }
  if (!first.ordered_) return std::nullopt;
  return std::move(first.Free().Limit(1));
}

Filter& Filter::SetOrder(std::string_view field, bool descending) {
  if (ordered_) throw std::logic_error("doclock::Filter: an order was given already");
  order_ = SplitPath(field);
  if (detail::IsKeyPath(order_)) order_.clear();
  ordered_ = true;
  descending_ = descending;
  return *this;
}

Filter& Filter::OrderBy(std::string_view field) & { return SetOrder(field, false); }
Filter& Filter::OrderByDescending(std::string_view field) & { return SetOrder(field, true); }

Filter& Filter::After(Key key) & {
  after_ = Position{std::move(key), nullptr};
  after_key_alone_ = true;
  return *this;
}

Filter& Filter::After(Key key, detail::FilterValue value) & {
  after_ = Position{std::move(key), std::move(value).Take()};
  after_key_alone_ = false;
  return *this;
}

Filter& Filter::Limit(std::int64_t count) & {
  if (count < 1) throw std::invalid_argument("doclock::Filter: the limit is below 1");
  limit_ = count;
  return *this;
}

Filter& Filter::Free() & {
  lock_state_ = LockState::kFree;
  return *this;
}

Filter& Filter::Locked() & {
  lock_state_ = LockState::kLocked;
  return *this;
}

bool Filter::Meets(const Key* key, const json& body) const {
  for (const Condition& condition : conditions_) {
    if (!detail::IsKeyPath(condition.path)) {
      if (!Holds(ValueAt(body, condition.path), condition)) return false;
    } else if (key != nullptr && !Holds(KeyToMember(*key), condition)) {
      return false;
    }
  }
  return true;
}

Filter detail::WithKeyField(Filter filter, std::string_view field, bool uuid_keys) {
  const auto is_key = [field](const std::vector<std::string>& path) {
    return IsKeyPath(path) || (path.size() == 1 && path.front() == field);
  };
  if (is_key(filter.order_)) filter.order_.clear();
  if (filter.after_key_alone_ && !filter.order_.empty()) {
    throw std::invalid_argument(
        "doclock::Filter: with an order by a field, After also needs the value that the document "
        "had there: After(key, value), with null if it was missing");
  }
  for (Filter::Condition& condition : filter.conditions_) {
    if (!is_key(condition.path)) continue;
    condition.path = {std::string(Filter::kKeyField)};
    if (!uuid_keys || !condition.value.is_string()) continue;
    try {
      condition.value = Binary::FromUuid(UuidFromText(condition.value.get<std::string>()));
    } catch (const std::invalid_argument&) {
      throw std::invalid_argument("doclock::Filter: the keys are UUIDs, and the value for \"" +
                                  std::string(field) + "\" is another text");
    }
  }
  return filter;
}

Filter detail::OfKey(Filter filter, const Key& key) {
  filter.order_.clear();
  filter.after_.reset();
  return Filter(std::move(filter)).Equal(Filter::kKeyField, key).Limit(1);
}

bool detail::IsKeyPath(const std::vector<std::string>& path) noexcept {
  return path.size() == 1 && path.front() == Filter::kKeyField;
}

const json& ValueAt(const json& body, const std::vector<std::string>& path) noexcept {
  static const json kNull;
  const json* at = &body;
  for (const std::string& name : path) {
    const auto* object = at->get_ptr<const json::object_t*>();
    if (object == nullptr) return kNull;
    const auto found = object->find(name);
    if (found == object->end()) return kNull;
    at = &found->second;
  }
  return *at;
}

int CompareValues(const json& a, const json& b) noexcept {
  const int rank = Rank(a);
  if (rank != Rank(b)) return ThreeWay(rank, Rank(b));
  switch (rank) {
    case 1:
      return CompareNumbers(a, b);
    case 2:
      return a.get_ptr<const json::string_t*>()->compare(*b.get_ptr<const json::string_t*>());
    case 3:
      return ThreeWay(*a.get_ptr<const json::boolean_t*>(), *b.get_ptr<const json::boolean_t*>());
    default:
      return rank == kRest ? 0 : detail::CompareTyped(detail::KindOf(a), a, b);
  }
}

}  // namespace doclock
