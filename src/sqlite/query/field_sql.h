#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "doclock/filter.h"

namespace doclock::sqlite {

/// A field's path through the body.
using Path = std::vector<std::string>;

/// The SQL that takes a field out of the body: the same text in an index and in a query, or SQLite
/// would not see that they belong together. Nothing when SQLite's JSON paths cannot name the
/// field. (Names are part of the text; values are always bound.)
std::optional<std::string> FieldSql(const Path& path);

/// SQL that differs between values which FieldSql gives alike: true and 1, [1] and "[1]".
std::optional<std::string> KindSql(const Path& path);

/// Something to bind.
using SqlValue = std::variant<std::int64_t, double, std::string>;

/// Part of a WHERE, with ? for its values.
struct Term {
  std::string sql;
  std::vector<SqlValue> values;
};

/// What all documents that meet the condition have in common, and some more may. Nothing when SQL
/// cannot help.
std::optional<Term> TermFor(const Filter::Condition& condition);

}  // namespace doclock::sqlite
