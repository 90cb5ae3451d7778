#include "sqlite/tables/schema.h"

#include <algorithm>

#include "doclock/errors.h"
#include "sqlite/db/database_error.h"
#include "sqlite/tables/lock_reader.h"
#include "sqlite/tables/names.h"

namespace doclock::sqlite {
namespace {

/// Raise it with every change of the tables: a file of another number is refused.
constexpr std::int64_t kSchemaVersion = 3;

/// Half the range: eras can be counted, and leases added to times, without overflow.
constexpr std::int64_t kMost = INT64_MAX / 2;

bool HasTable(Connection& connection, std::string_view name) {
  const Running find(
      connection.Prepared("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1"));
  find->Bind(1, name);
  return find->Step();
}

std::int64_t Number(Connection& connection, const std::string& name) {
  const Running row(connection.Prepared("SELECT value FROM doclock_meta WHERE name=?1"));
  row->Bind(1, name);
  if (!row->Step() || !row->IsInteger(0) || row->Integer(0) < 0 || row->Integer(0) > kMost) {
    throw RefusedError("the " + name + " in doclock_meta is not a number that this library writes");
  }
  return row->Integer(0);
}

}  // namespace

bool HasSchema(Connection& connection, const std::string& path) {
  if (!HasTable(connection, "doclock_meta")) return false;
  const std::int64_t stored = SchemaVersion(connection);
  if (stored == kSchemaVersion) return true;
  const char* const which = stored > kSchemaVersion ? "a newer" : "an older";
  throw StoreException(Errc::kRefused, "doclock: " + path + " was made by " + which +
                                           " version of this library (schema " +
                                           std::to_string(stored) + ", not " +
                                           std::to_string(kSchemaVersion) + ")");
}

void CreateSchema(Connection& connection) {
  connection.Run(
      "CREATE TABLE doclock_meta(name TEXT PRIMARY KEY, value NOT NULL)"
      " WITHOUT ROWID;"
      "INSERT INTO doclock_meta VALUES('schema', " +
      std::to_string(kSchemaVersion) +
      "),('era', 0),('boot', ''),('boot_era', 0),('boot_seen', 0)");
}

Era LastEra(Connection& connection) {
  return {Number(connection, "era"), Number(connection, "boot_era"),
          TimePoint(TimePoint::duration(Number(connection, "boot_seen")))};
}

void BeginEra(Connection& connection, const std::string& boot, TimePoint now) {
  const std::string era = std::to_string(Number(connection, "era") + 1);
  connection.Run("UPDATE doclock_meta SET value=" + era + " WHERE name='era'");
  const std::string known = "SELECT value FROM doclock_meta WHERE name='boot'";
  if (connection.AskText(known) == boot) return;
  connection.Run("REPLACE INTO doclock_meta VALUES('boot', '" + boot + "'),('boot_era', " + era +
                 "),('boot_seen', " +
                 std::to_string(std::max(now, TimePoint{}).time_since_epoch().count()) + ")");
}

std::int64_t FloorOf(std::int64_t era) noexcept {
  constexpr std::int64_t kVersions = std::int64_t{1} << 32;
  return std::clamp<std::int64_t>(era - 1, 0, rules::kHighestVersion / kVersions / 2) * kVersions;
}

std::int64_t SchemaVersion(Connection& connection) {
  return connection.Ask("SELECT value FROM doclock_meta WHERE name='schema'");
}

std::vector<std::string> CollectionNames(Connection& connection) {
  std::vector<std::string> names;
  const Running find(connection.Prepared(
      "SELECT name FROM sqlite_master WHERE type='table' AND substr(name, 1, ?1)=?2"));
  find->Bind(1, std::int64_t{kDocumentsPrefix.size()});
  find->Bind(2, kDocumentsPrefix);
  while (find->Step()) names.push_back(OriginalCase(find->Text(0).substr(kDocumentsPrefix.size())));
  return names;
}

bool HasCollection(Connection& connection, const SqliteCollection& collection) {
  return HasTable(connection, collection.documents());
}

void CreateCollection(Connection& connection, const SqliteCollection& collection) {
  if (HasCollection(connection, collection)) return;  // another process was faster
  const std::string name = CaseSafe(collection.name());
  const std::string documents = Quoted(collection.documents());
  const std::string locks = Quoted(std::string(kLocksPrefix) + name);
  // A table of documents that a shell drops or renames leaves its locks, or takes its triggers
  // along.
  std::string sql = "DROP TABLE IF EXISTS " + locks;
  const auto trigger = [&](const std::string& event, const std::string& gone) {
    // A colon, which no collection's name has, keeps its name apart from those of tables.
    const std::string its = Quoted(std::string(kLocksPrefix) + name + ":" + event.substr(0, 6));
    sql += ";DROP TRIGGER IF EXISTS " + its + ";CREATE TRIGGER " + its + " AFTER " + event +
           " ON " + documents + " BEGIN DELETE FROM " + locks + " WHERE id IN (" + gone + "); END";
  };
  // `key` has no type, so that SQLite converts nothing. A lock goes with its document, by whichever
  // hand. SQLite gives the number of a deleted row to a new one, and a REPLACE deletes without a
  // trigger: so a new document begins without a lock, too.
  sql += ";CREATE TABLE " + documents +
         "(id INTEGER PRIMARY KEY, key NOT NULL UNIQUE, body TEXT);CREATE TABLE " + locks +
         "(id INTEGER PRIMARY KEY" + LockColumns("").substr(2) + ")";
  trigger("DELETE", "OLD.id");
  trigger("INSERT", "NEW.id");
  trigger("UPDATE OF id", "OLD.id, NEW.id");
  connection.Run(sql);
}

}  // namespace doclock::sqlite
