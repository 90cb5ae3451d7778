#include "sqlite/query/indexes.h"

#include "doclock/filter.h"
#include "document/collection.h"
#include "sqlite/query/dialect.h"
#include "sqlite/tables/index_names.h"
#include "sqlite/tables/names.h"

namespace doclock::sqlite {
std::string IndexSql(const SqliteCollection& collection, const IndexSpec& index) {
  if (index.fields.empty()) return {};  // SQLite has that of the keys
  std::string fields, types;
  for (const std::string& name : index.fields) {
    const sql::Path path = Filter().OrderBy(name).order();
    if (!SqliteDialect().Names(path)) {
      if (!index.unique) return {};
      throw StoreException(Errc::kRefused,
                           "doclock: SQLite cannot index the fields " + FieldList(index.fields));
    }
    fields += FieldSql(path) + ", ";
    types += TypeSql(path) + ", ";
  }
  if (index.unique) fields += types.substr(0, types.size() - 2);
  // With the key the index also orders equal values. A unique index must not contain it; there a
  // value that is missing, or null, repeats no other.
  const std::string name = Quoted(IndexName(collection.name(), index));
  return std::string("CREATE ") + (index.unique ? "UNIQUE " : "") + "INDEX " + name + " ON " +
         Quoted(collection.documents()) + "(" + fields + (index.unique ? "" : "key") + ")";
}

bool HasIndex(Connection& connection, const std::string& sql) {
  const Running find(
      connection.Prepared("SELECT 1 FROM sqlite_master WHERE type='index' AND sql=?1"));
  find->Bind(1, std::string_view(sql));
  return find->Step();
}

void CreateIndex(Connection& connection, const std::string& sql) {
  if (HasIndex(connection, sql)) return;  // another process was faster
  connection.Run(sql);
}

}  // namespace doclock::sqlite
