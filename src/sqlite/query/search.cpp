#include "sqlite/query/search.h"

#include <utility>
#include <variant>

#include "sqlite/query/dialect.h"

namespace doclock::sqlite {
namespace {

/// Whether an index has the field: without one, SQLite would sort whole bodies in temporary files.
bool HasIndexOn(Connection& connection, const SqliteCollection& collection,
                const sql::Path& field) {
  if (field.empty()) return false;
  const Running find(connection.Prepared(
      "SELECT 1 FROM sqlite_master WHERE type='index' AND tbl_name=?1 AND instr(sql, ?2)"));
  const std::string text = FieldSql(field);
  find->Bind(1, std::string_view(collection.documents()));
  find->Bind(2, std::string_view(text));
  return find->Step();
}

std::string TextOf(const SqliteCollection& collection, const sql::Select& select) {
  return "SELECT d.id, " + LockColumns("l.") + ", d.key, d.body FROM " + collection.tables() +
         " WHERE " + select.where + (select.order.empty() ? "" : " ORDER BY " + select.order);
}

}  // namespace

void Search(Connection& connection, const LockReader& reader, const SqliteCollection& collection,
            const Filter& filter, const std::function<bool(QueryRow&&)>& visit) {
  const auto run = [&](const sql::Select& select, const std::function<bool(QueryRow&&)>& show) {
    constexpr int kKey = 1 + kLockColumnCount;
    const Running row(connection.PreparedForFilter(TextOf(collection, select)));
    for (int i = 0; const auto& value : select.values) {
      std::visit([&](const auto& one) { row->Bind(i + 1, one); }, value);
      ++i;
    }
    while (row->Step()) {
      auto key = row->KeyAt(kKey);
      if (!key) continue;  // this library did not write it
      LoadedDocument found = reader.Read(*row, kKey + 1);
      const bool locked = reader.IsLocked(found);
      if (!show({*std::move(key), std::move(found.body), found.lock.version, found.lock.born,
                 locked})) {
        return;
      }
    }
  };
  const bool sorts = HasIndexOn(connection, collection, filter.order());
  sql::Search(filter, SqliteDialect(), sorts, run, visit);
}

std::vector<std::string> SearchSql(Connection& connection, const SqliteCollection& collection,
                                   const Filter& filter) {
  const bool sorts = HasIndexOn(connection, collection, filter.order());
  std::vector<std::string> texts;
  for (const sql::Select& select : sql::SelectsOf(filter, SqliteDialect(), sorts)) {
    texts.push_back(TextOf(collection, select));
  }
  return texts;
}

}  // namespace doclock::sqlite
