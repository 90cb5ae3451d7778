#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Pieces of aggregation expressions. A `field` is named without the first "$"; so "$this.time" is
// a field of the variable that $map and $filter call so.

template <class A, class B>
Doc BinaryOperator(const char* op, const A& a, const B& b) {
  Array both;
  both.Add(a).Add(b);
  return Doc::OfArray(op, both.doc());
}

/// Only the branch that is taken is evaluated: `then` may rely on `condition`.
template <class Then, class Otherwise>
Doc Conditional(const Doc& condition, const Then& then, const Otherwise& otherwise) {
  Array parts;
  parts.Add(condition).Add(then).Add(otherwise);
  return Doc::OfArray("$cond", parts.doc());
}

Doc And(std::initializer_list<const Doc*> conditions);
inline Doc Or(const Doc& a, const Doc& b) { return BinaryOperator("$or", a, b); }

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
/// A date of which AgeOf can be told.
Doc IsLeaseTime(const std::string& field);

/// For a projection: which of these values the document's `_id` equals, by the server's rules: 5 is
/// 5.0 too.
Doc PlaceAmong(const Array& ids);

/// How long ago a date was.
Doc AgeOf(const std::string& field);

}  // namespace doclock::mongodb
