#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "doclock/filter.h"

namespace doclock::sqlite {

/// A field's path through the body.
using Path = std::vector<std::string>;

/// The SQL that takes a field out of the body. An index and a query need the same text, or SQLite
/// would not use the index. Nothing if SQLite's JSON paths cannot name the field. (Names are part
/// of the text; values are always bound.)
std::optional<std::string> FieldSql(const Path& path);

/// SQL that tells values apart which FieldSql makes equal: true and 1, [1] and "[1]".
std::optional<std::string> KindSql(const Path& path);

/// A value to bind.
using SqlValue = std::variant<std::int64_t, double, std::string, Key>;

/// Part of a WHERE, with ? for its values.
struct Term {
  std::string sql;
  std::vector<SqlValue> values;
};

/// An SQL condition that every document which meets the filter's condition meets, and maybe others
/// too. Nothing if SQL cannot help.
std::optional<Term> TermFor(const Filter::Condition& condition);

}  // namespace doclock::sqlite
