#include "sqlite/schema/schema.h"

#include "doclock/errors.h"

namespace doclock::sqlite {
namespace {

/// Raise it with every change of the tables: a file of another number is refused.
constexpr std::int64_t kSchemaVersion = 1;

bool HasTable(Connection& connection, std::string_view name) {
  const Running find(
      connection.Prepared("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1"));
  find->Bind(1, name);
  return find->Step();
}

std::int64_t StoredVersion(Connection& connection) {
  return connection.Ask("SELECT value FROM doclock_meta WHERE name='schema'");
}

/// Makes a table's index on its column `name`. A colon, which no collection's name has, keeps it
/// apart from all tables.
void CreateNameIndex(Connection& connection, const std::string& table) {
  connection.Run("CREATE INDEX " + Quoted(table + ":name") + " ON " + Quoted(table) +
                 "(name) WHERE name IS NOT NULL");
}

void CreateShares(Connection& connection, const TableNames& tables) {
  // Rows count while the document has kSharedLockId. `granted` and `renewed` are times like
  // lock_time, the rest is as in the document's columns.
  connection.Run("CREATE TABLE " + tables.quoted_shares() +
                 "(doc INTEGER NOT NULL, share BLOB NOT NULL, granted INTEGER NOT NULL,"
                 " renewed INTEGER NOT NULL, ttl INTEGER NOT NULL, slot INTEGER NOT NULL,"
                 " boot INTEGER NOT NULL, owner INTEGER NOT NULL, wall INTEGER NOT NULL,"
                 " name TEXT, fence INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(doc, share))"
                 " WITHOUT ROWID");
  CreateNameIndex(connection, tables.shares());
  connection.Run("CREATE INDEX " + Quoted(tables.malformed_shares()) + " ON " +
                 tables.quoted_shares() + "(doc) WHERE " + kMalformedShare);
}

void CreateQueue(Connection& connection, const TableNames& tables) {
  // Rows count while lock_queue of the document is not 0. `renewed` and `until` are times like
  // lock_time; `slot` names the waiter's store; the rest describes the lock that it waits for.
  // `max_holders` is that of a share, and 0 of an exclusive lock.
  connection.Run("CREATE TABLE " + tables.quoted_queue() +
                 "(doc INTEGER NOT NULL, place INTEGER NOT NULL, lock_id BLOB NOT NULL,"
                 " renewed INTEGER NOT NULL, until INTEGER NOT NULL, boot INTEGER NOT NULL,"
                 " slot INTEGER NOT NULL, detached INTEGER NOT NULL, ttl INTEGER NOT NULL,"
                 " min_hold INTEGER NOT NULL, owner INTEGER NOT NULL, name TEXT,"
                 " max_holders INTEGER NOT NULL DEFAULT 0,"
                 " PRIMARY KEY(doc, place)) WITHOUT ROWID");
}

}  // namespace

bool HasSchema(Connection& connection, const std::string& path) {
  if (!HasTable(connection, "doclock_meta")) return false;
  const std::int64_t stored = StoredVersion(connection);
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
      ");"
      // `seen` is the day (Unix time in seconds) when a process last used this owner.
      "CREATE TABLE doclock_owners(id INTEGER PRIMARY KEY AUTOINCREMENT,"
      " name TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, seen INTEGER NOT NULL,"
      " UNIQUE(name, host, pid))");
}

std::int64_t SchemaVersion(Connection& connection) { return StoredVersion(connection); }

std::vector<std::string> CollectionNames(Connection& connection) {
  std::vector<std::string> names;
  const Running find(connection.Prepared(
      "SELECT name FROM sqlite_master WHERE type='table' AND substr(name, 1, ?1)=?2"));
  find->Bind(1, std::int64_t{kDocumentsPrefix.size()});
  find->Bind(2, kDocumentsPrefix);
  while (find->Step()) names.push_back(OriginalCase(find->Text(0).substr(kDocumentsPrefix.size())));
  return names;
}

bool HasCollection(Connection& connection, const TableNames& tables) {
  return HasTable(connection, tables.documents());
}

void CreateCollection(Connection& connection, const TableNames& tables) {
  if (HasCollection(connection, tables)) return;  // another process was faster
  // The lock's columns stand before the body and keep their widths, so that taking the lock of a
  // large document rewrites one page. `key` has no type, so that SQLite converts nothing.
  // The columns have defaults, so that a person can insert rows by hand without them.
  connection.Run("CREATE TABLE " + tables.quoted_documents() +
                 "(id INTEGER PRIMARY KEY, key NOT NULL UNIQUE,"
                 " lock_id BLOB NOT NULL DEFAULT (zeroblob(16)),"
                 " lock_version INTEGER NOT NULL DEFAULT 0,"
                 " lock_time INTEGER NOT NULL DEFAULT 0,"
                 " lock_ttl INTEGER DEFAULT NULL,"
                 " lock_slot INTEGER NOT NULL DEFAULT 0,"
                 " lock_boot INTEGER NOT NULL DEFAULT 0,"
                 " lock_closed INTEGER NOT NULL DEFAULT 0,"
                 " lock_owner INTEGER NOT NULL DEFAULT 0,"
                 " lock_released BLOB NOT NULL DEFAULT (zeroblob(16)),"
                 " lock_born BLOB NOT NULL DEFAULT (zeroblob(16)),"
                 " lock_wall INTEGER NOT NULL DEFAULT 0,"
                 " lock_fence INTEGER NOT NULL DEFAULT 0,"
                 " lock_queue INTEGER NOT NULL DEFAULT 0,"
                 " body TEXT);"
                 // Renewals: small rows side by side, where ten thousand cost what two hundred
                 // pages of documents would.
                 "CREATE TABLE " +
                 tables.quoted_leases() +
                 "(doc INTEGER PRIMARY KEY, lock_id BLOB NOT NULL, renewed INTEGER NOT NULL,"
                 " ttl INTEGER NOT NULL);"
                 // Few locks have a group. A row counts while the document has the lock it names.
                 "CREATE TABLE " +
                 tables.quoted_groups() +
                 "(doc INTEGER PRIMARY KEY, lock_id BLOB NOT NULL, name TEXT NOT NULL)");
  CreateNameIndex(connection, tables.groups());
  CreateShares(connection, tables);
  CreateQueue(connection, tables);
}

}  // namespace doclock::sqlite
