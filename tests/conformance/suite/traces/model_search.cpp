#include "model_search.h"

#include <compare>
#include <stdexcept>

namespace doclock::conformance {
namespace {

/// In the order of kinds that OrderBy has.
enum class ValueKind { kNothing, kNumber, kText, kTruth, kDate, kOther };

bool IsDate(const Json& value) { return value.is_object() && value.contains("$date"); }

ValueKind KindOf(const Json& value) {
  if (value.is_null()) return ValueKind::kNothing;
  if (value.is_number()) return ValueKind::kNumber;
  if (value.is_string()) return ValueKind::kText;
  if (value.is_boolean()) return ValueKind::kTruth;
  return IsDate(value) ? ValueKind::kDate : ValueKind::kOther;
}

Json FieldOf(const Json& body, const std::string& field) {
  return body.contains(field) ? body.at(field) : Json();
}

/// Of values of one kind.
std::partial_ordering CompareAlike(const Json& a, const Json& b) {
  switch (KindOf(a)) {
    case ValueKind::kNothing:
      return std::partial_ordering::equivalent;
    case ValueKind::kNumber:
      return a.get<double>() <=> b.get<double>();
    case ValueKind::kText:
      return a.get<std::string>() <=> b.get<std::string>();
    case ValueKind::kTruth:
      return a.get<bool>() <=> b.get<bool>();
    case ValueKind::kDate: {
      const auto time = [](const Json& date) {
        return std::stoll(date.at("$date").at("$numberLong").get<std::string>());
      };
      return time(a) <=> time(b);
    }
    case ValueKind::kOther:
      break;
  }
  return std::partial_ordering::unordered;
}

}  // namespace

bool Meets(const Json& body, const Search& search) {
  if (!search.condition) return true;
  const auto& [field, op, value] = *search.condition;
  const Json found = FieldOf(body, field);
  const bool alike = KindOf(found) == KindOf(value);
  const auto order = alike ? CompareAlike(found, value) : std::partial_ordering::unordered;
  switch (op) {
    case Filter::Op::kEqual:
      return order == 0;
    case Filter::Op::kNotEqual:
      return order != 0;
    case Filter::Op::kLess:
      return order < 0;
    case Filter::Op::kAtLeast:
      return order >= 0;
    default:
      throw std::logic_error("no search of a trace has this condition");
  }
}

bool ComesBefore(const Json& a, const Json& b, const Search& search) {
  if (search.order.empty()) return false;
  const Json first = FieldOf(search.descending ? b : a, search.order);
  const Json second = FieldOf(search.descending ? a : b, search.order);
  if (KindOf(first) != KindOf(second)) return KindOf(first) < KindOf(second);
  return CompareAlike(first, second) < 0;
}

}  // namespace doclock::conformance
