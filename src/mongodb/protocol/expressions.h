#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Parts of aggregation expressions. A `field` is named without the first "$"; so "$this.time" is a
// field of the variable "this" of $map and $filter.

template <class A, class B>
Doc BinaryOperator(const char* op, const A& a, const B& b) {
  Array both;
  both.Add(a).Add(b);
  return Doc::OfArray(op, both.doc());
}

/// The server evaluates only the branch that it takes: `then` may rely on `condition`.
template <class Then, class Otherwise>
Doc Conditional(const Doc& condition, const Then& then, const Otherwise& otherwise) {
  Array parts;
  parts.Add(condition).Add(then).Add(otherwise);
  return Doc::OfArray("$cond", parts.doc());
}

Doc And(std::initializer_list<const Doc*> conditions);
Doc Not(const Doc& condition);
inline Doc Or(const Doc& a, const Doc& b) { return BinaryOperator("$or", a, b); }

/// { $filter: { input, cond } }
template <class Input>
Doc Filtered(const Input& input, const Doc& condition) {
  Doc args;
  args.Add("input", input).Add("cond", condition);
  return Doc::Of("$filter", args);
}

Doc TypeIn(const std::string& field, std::initializer_list<std::string_view> types);
/// Missing or null.
Doc IsNothing(const std::string& field);
/// A whole number from 0 to `highest`.
Doc NumberUpTo(const std::string& field, std::int64_t highest);
/// A UUID of subtype 3 or 4.
Doc IsUuid(const std::string& field);
/// The same, or missing or null.
Doc IsUuidOrNothing(const std::string& field);
/// The same as IsUuid, and not nil.
Doc IsLockId(const std::string& field);
/// A date for which AgeOf is defined.
Doc IsLeaseTime(const std::string& field);

/// For a projection: the place among these values of the document's `_id`, by the server's rules: 5
/// equals 5.0.
Doc PlaceAmong(const Array& ids);

/// One more than the version in this field, which may be missing.
Doc NextVersion(const std::string& version);

/// The time since a date.
Doc AgeOf(const std::string& field);

}  // namespace doclock::mongodb
