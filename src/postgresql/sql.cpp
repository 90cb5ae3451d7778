#include "doclock/postgresql_sql.h"

#include "document/collection.h"
#include "postgresql/postgresql_collection.h"
#include "postgresql/texts.h"

namespace doclock {

std::string PostgresqlTables(const std::string& collection) {
  CheckCollectionName(collection);
  const std::string table = postgresql::TableName(collection);
  return postgresql::DefinitionOfMeta("doclock_meta") + ";\n" +
         postgresql::DefinitionOf(postgresql::QuotedName(table), postgresql::KeyConstraint(table)) +
         ";\n";
}

std::string PostgresqlFence(const std::string& collection, const Key& key, std::int64_t fence) {
  CheckCollectionName(collection);
  const postgresql::KeyColumns columns = postgresql::ColumnsOf(key);
  return "SELECT FROM " + postgresql::QuotedName(postgresql::TableName(collection)) +
         " WHERE key_kind = " + std::to_string(columns.kind) +
         " AND key_number = " + std::to_string(columns.number) +
         " AND key_text = " + postgresql::QuotedText(columns.text) +
         " AND lock_id IS NOT NULL AND lock_fence = " + std::to_string(fence) + " FOR SHARE";
}

}  // namespace doclock
