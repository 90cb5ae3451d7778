#pragma once

#include <span>
#include <string>

#include "doclock/filter.h"
#include "doclock/store/store.h"
#include "postgresql/client/values.h"
#include "sql/search.h"

namespace doclock::postgresql {

/// A filter in PostgreSQL's words.
class PostgresqlDialect final : public sql::Dialect {
 public:
  explicit PostgresqlDialect(const Filter& filter) : filter_(filter) {}

  [[nodiscard]] std::span<const sql::Ranks> ranks() const noexcept override;
  [[nodiscard]] std::string Field(const sql::Path& path, sql::Rank rank) const override;
  [[nodiscard]] std::string Compare(const sql::Path& path, const char* op,
                                    const nlohmann::json& value,
                                    sql::Values& values) const override;
  [[nodiscard]] std::string From(const sql::Path& path, sql::Rank rank) const override;
  [[nodiscard]] std::string Until(const sql::Path& path, sql::Rank rank) const override;
  [[nodiscard]] std::string CompareKey(const char* op, const Key& key,
                                       sql::Values& values) const override;
  [[nodiscard]] std::string ByKey(bool descending) const override;
  [[nodiscard]] std::string HasState(Filter::LockState state) const override;
  [[nodiscard]] bool IsExact(const nlohmann::json& number) const override;

 private:
  const Filter& filter_;
};

Parameters ParametersOf(const sql::Values& values);

/// Returns the SELECT of the locks that a query asks for, in the order of keys.
sql::Select SelectOf(const LockQuery& query);

/// Returns an expression: the text of a body that has those members only that the filter looks at.
std::string MembersFor(const Filter& filter);

}  // namespace doclock::postgresql
