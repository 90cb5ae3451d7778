#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "doclock/options.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Parts of aggregation expressions. A `field` is named without the first "$"; so "$this.time" is a
// field of the variable "this" of $map and $filter.

/// { op: [args] }
template <class... Args>
Doc Call(const char* op, const Args&... args) {
  Array all;
  (all.Add(args), ...);
  return Doc::Of(op, all);
}

/// The server evaluates only the branch that it takes: `then` may rely on `condition`.
template <class Then, class Otherwise>
Doc Conditional(const Doc& condition, const Then& then, const Otherwise& otherwise) {
  return Call("$cond", condition, then, otherwise);
}
template <class... Conditions>
Doc And(const Conditions&... conditions) {
  return Call("$and", conditions...);
}
inline Doc Or(const Doc& a, const Doc& b) { return Call("$or", a, b); }
inline Doc Not(const Doc& condition) { return Call("$not", condition); }

/// { $let: { vars, in } }
Doc Let(const Doc& vars, const Doc& in);

/// { $filter: { input, cond } }
template <class Input>
Doc Filtered(const Input& input, const Doc& condition) {
  Doc args;
  args.Add("input", input).Add("cond", condition);
  return Doc::Of("$filter", args);
}
/// { $map: { input, in } }
template <class Input, class In>
Doc Mapped(const Input& input, const In& in) {
  Doc args;
  args.Add("input", input).Add("in", in);
  return Doc::Of("$map", args);
}

Doc TypeIn(const std::string& field, std::initializer_list<std::string_view> types);
/// Missing or null.
Doc IsNothing(const std::string& field);
/// A whole number from 0 to `highest`.
Doc NumberUpTo(const std::string& field, std::int64_t highest);
/// A date for which AgeOf is defined.
Doc IsLeaseTime(const std::string& field);

/// Returns a number from which the places of one question are counted, and no other's: neither
/// libmongoc nor the server checks that an answer is that of the question.
std::int64_t FirstPlace();
/// For a projection: the place among these values of the document's key, counted from `first`, by
/// the server's rules: 5 equals 5.0. One less than `first`: it is none of them.
Doc PlaceAmong(const Array& ids, std::int64_t first, const char* key_field = "_id");

/// A document of all fields of the lock. (A projection would take one without an operator for the
/// paths of its members, and apply them to each element of an array of that name in the body.)
Doc LockFieldsExpr(const LockFieldNames& names);

/// One more than the version in this field, which may be missing.
Doc NextVersion(const std::string& version);

/// The time since a date.
Doc AgeOf(const std::string& field);

inline Doc SetStage(const Doc& fields) { return Doc::Of("$set", fields); }

/// Sets fields where a flag says so, and leaves them as they are elsewhere.
class SetWhere {
 public:
  /// @param flag the path of a field that is true or false; empty: everywhere
  explicit SetWhere(std::string flag) : flag_(std::move(flag)) {}

  template <class Value>
  void Set(Doc& set, const std::string& field, const Value& value) const {
    if (flag_.empty()) {
      set.Add(field, value);
    } else {
      set.Add(field, Conditional(Flag(), value, FieldPath(field)));
    }
  }
  /// The field's value as a condition.
  [[nodiscard]] Doc Flag() const { return And(flag_); }

 private:
  std::string flag_;
};

}  // namespace doclock::mongodb
