#pragma once

#include <span>
#include <string>

#include "sql/search.h"

namespace doclock::sqlite {

/// Returns the expression that stands for a field in indexes and searches, in the same text: SQLite
/// sorts its values as a filter sorts the field's. Null and a missing field are the lowest number,
/// truth values and dates blobs, all else blobs behind them. (Names are part of the text; values
/// are bound.)
std::string FieldSql(const sql::Path& path);

/// Returns SQL that is NULL for null and a missing field only.
std::string TypeSql(const sql::Path& path);

/// Searches in SQLite's words. The documents are `d`, their locks `l`.
class SqliteDialect final : public sql::Dialect {
 public:
  [[nodiscard]] std::span<const sql::Ranks> ranks() const noexcept override;
  [[nodiscard]] bool Names(const sql::Path& path) const override;
  [[nodiscard]] std::string Field(const sql::Path& path, sql::Rank) const override {
    return FieldSql(path);
  }
  [[nodiscard]] std::string Compare(const sql::Path& path, const char* op,
                                    const nlohmann::json& value,
                                    sql::Values& values) const override;
  [[nodiscard]] std::string From(const sql::Path& path, sql::Rank rank) const override;
  [[nodiscard]] std::string Until(const sql::Path& path, sql::Rank rank) const override;
  [[nodiscard]] std::string CompareKey(const char* op, const Key& key,
                                       sql::Values& values) const override;
  /// SQLite's own order, in which every index is, has integers, texts, then UUIDs and ObjectIds
  /// together by their bytes.
  [[nodiscard]] std::string ByKey(bool descending) const override {
    return descending ? "d.key DESC" : "d.key";
  }
  [[nodiscard]] KeyOrder keys() const noexcept override;
  [[nodiscard]] std::string HasState(Filter::LockState state) const override {
    return state == Filter::LockState::kLocked ? " AND l.lock_id IS NOT NULL" : "";
  }
  [[nodiscard]] bool IsExact(const nlohmann::json& number) const override;
};

}  // namespace doclock::sqlite
