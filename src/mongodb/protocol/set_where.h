#pragma once

#include <string>
#include <utility>

#include "mongodb/bson/bson.h"
#include "mongodb/protocol/expressions.h"

namespace doclock::mongodb {

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
  [[nodiscard]] Doc Flag() const { return Doc::OfArray("$and", Array().Add(flag_).doc()); }

 private:
  std::string flag_;
};

}  // namespace doclock::mongodb
