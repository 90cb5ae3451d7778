#include "sqlite/query/indexes.h"

#include <stdexcept>

#include "doclock/filter.h"
#include "document/collection.h"
#include "sqlite/query/field_sql.h"
#include "sqlite/tables/index_names.h"
#include "sqlite/tables/names.h"

namespace doclock::sqlite {
namespace {

/// The field's path, by the rules of filters.
Path PathOf(const std::string& field) { return Filter().OrderBy(field).order(); }

}  // namespace

std::string IndexSql(const SqliteCollection& collection, const IndexSpec& index) {
  if (index.fields.empty()) return {};  // SQLite has that of the keys
  std::string fields, kinds;
  bool possible = true;
  for (const std::string& name : index.fields) {
    const auto field = FieldSql(PathOf(name));
    possible = possible && field.has_value();
    fields += field.value_or("") + ", ";
    if (possible) kinds += ", " + *KindSql(PathOf(name));
  }
  if (!possible && !index.unique) return {};
  if (!possible) {
    throw StoreException(Errc::kRefused,
                         "doclock: SQLite cannot index the fields " + FieldList(index.fields));
  }
  fields.resize(fields.size() - 2);
  const std::string name = Quoted(IndexName(collection.name(), index));
  // With the key the index also orders equal values. A unique index must not contain it; there the
  // kinds of values keep true and 1 apart.
  return std::string("CREATE ") + (index.unique ? "UNIQUE " : "") + "INDEX " + name + " ON " +
         Quoted(collection.documents()) + "(" + fields + (index.unique ? kinds : ", key") + ")";
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
