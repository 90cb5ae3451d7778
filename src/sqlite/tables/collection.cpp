#include "sqlite/tables/collection.h"

#include "sqlite/processes/process_coordinator.h"
#include "sqlite/tables/lock_reader.h"
#include "sqlite/tables/names.h"

namespace doclock::sqlite {
namespace {

std::string TextOf(Statements which, const std::string& documents, const std::string& locks,
                   const std::string& tables) {
  const std::string select = "SELECT d.id, " + LockColumns("l.");
  const std::string list = select + ", d.key, d.body IS NOT NULL AND d.body <> '{}' FROM ";
  switch (which) {
    case Statements::kFind:
      return select + ", d.body FROM " + tables + " WHERE d.key=?1";
    case Statements::kFindLock:
      return select + " FROM " + tables + " WHERE d.key=?1";
    case Statements::kInsert:
      return "INSERT INTO " + documents + "(key, body) VALUES(?1,?2)";
    case Statements::kPutBody:
      return "UPDATE " + documents + " SET body=?2 WHERE id=?1";
    case Statements::kPutLock: {
      std::string values = "?1";
      for (int i = 1; i < kLockColumnCount; ++i) values += ",?" + std::to_string(i + 1);
      return "INSERT OR REPLACE INTO " + locks + "(" + LockColumns("") + ") VALUES(" + values + ")";
    }
    case Statements::kErase:
      return "DELETE FROM " + documents + " WHERE id=?1";
    case Statements::kList:
      return list + locks + " l CROSS JOIN " + documents +
             " d ON d.id=l.id WHERE l.id>?1 AND l.lock_id IS NOT NULL ORDER BY l.id";
    case Statements::kListAll:
      return list + tables + " WHERE d.id>?1 ORDER BY d.id";
    case Statements::kListKey:
      return list + tables + " WHERE d.id>?1 AND d.key=?2";
  }
  return {};
}

}  // namespace

SqliteCollection::SqliteCollection(const std::string& collection, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl, std::size_t number)
    : Collection(collection, fields, default_ttl),
      documents_(std::string(kDocumentsPrefix) + CaseSafe(collection)),
      tag_(TagOf(collection)) {
  const std::string documents = Quoted(documents_);
  const std::string locks = Quoted(std::string(kLocksPrefix) + CaseSafe(collection));
  tables_ = documents + " d LEFT JOIN " + locks + " l ON l.id=d.id";
  for (std::size_t i = 0; i < kStatementCount; ++i) {
    sql_[i] = {number * kStatementCount + i,
               TextOf(static_cast<Statements>(i), documents, locks, tables_)};
  }
}

}  // namespace doclock::sqlite
