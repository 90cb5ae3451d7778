#include "postgresql/tables/schema.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "doclock/errors.h"
#include "document/collection.h"
#include "postgresql/client/quoted.h"
#include "postgresql/tables/indexed.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

/// The version of the tables that this library makes and understands.
constexpr const char* kSchemaNumber = "1";
constexpr int kOldestServer = 140000;
/// A writer that has not ended keeps the table from CREATE INDEX, which keeps all later writers
/// from it meanwhile. It gives up, and tries again after a pause. (A vacuum gives way after 1 s.)
constexpr const char* kBriefLocks = "SET LOCAL lock_timeout = '2s'";
constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{30};
/// Of an index.
constexpr std::size_t kMostColumns = 32;

/// Sends a transaction that one client after the other runs: CREATE ... IF NOT EXISTS of several at
/// once may fail. An index of a large table keeps the others waiting for long.
void SendBegin(Connection& connection) {
  connection.Begin();
  connection.Command("SET LOCAL lock_timeout = 0");
  connection.SendOnce("SELECT pg_advisory_xact_lock(hashtext('doclock'))");
}

[[noreturn]] void Refuse(const std::string& what) {
  throw StoreException(Errc::kRefused, "doclock: PostgreSQL: " + what);
}

constexpr std::string_view kNoPrivilege = "42501";

/// Refuses a table that has not the columns of a collection, or hides rows: they would be taken
/// for missing.
void CheckTable(Connection& connection, const PostgresqlCollection& collection, Deadline deadline) {
  connection.SendOnce("SELECT " + std::string(kReadColumns).append(kWholeBody) + " FROM " +
                      collection.table() + " WHERE " + std::string(kByPrimary) + " LIMIT 0");
  try {
    connection.Run(deadline);
  } catch (const Refusal& refusal) {
    if (refusal.state != "42703") throw;
    Refuse("the table " + collection.table() + " is not one of this library");
  }
  const Result hides =
      connection.Ask("SELECT row_security_active($1) WHERE " + std::string(kByPrimary),
                     Parameters().Text(collection.table()), deadline);
  if (hides.Number(0, 0) == 0) return;
  Refuse("row security may hide rows of " + collection.table() +
         ": drop its policies, or give the role BYPASSRLS");
}

bool Exists(Connection& connection, const std::string& table, Deadline deadline) {
  const Result found = connection.Ask("SELECT to_regclass($1) WHERE " + std::string(kByPrimary),
                                      Parameters().Text(table), deadline);
  return !found.IsNull(0, 0);
}

/// False too if it is not there.
bool MayRead(Connection& connection, const std::string& table, Deadline deadline) {
  const Result may = connection.Ask(
      "SELECT coalesce(has_table_privilege(to_regclass($1), 'SELECT'), false) WHERE " +
          std::string(kByPrimary),
      Parameters().Text(table), deadline);
  return may.Number(0, 0) != 0;
}

/// The value that stays under a name: this one, or the one before it.
std::string Keep(Connection& connection, const std::string& schema, const std::string& name,
                 const std::string& value, Deadline deadline) {
  Parameters both;
  both.Text(name).Text(value);
  const std::string meta = MetaTable(schema);
  connection.Command("INSERT INTO " + meta + " VALUES($1, $2) ON CONFLICT (name) DO NOTHING", both);
  const Result kept = connection.Ask(
      "SELECT value FROM " + meta + " WHERE name = $1 AND " + std::string(kByPrimary),
      Parameters().Text(name), deadline);
  return std::string(kept.Text(0, 0));
}

/// Is the index there, and does it hold all rows?
bool HasIndex(Connection& connection, const std::string& table, const std::string& index,
              Deadline deadline) {
  const Result found = connection.Ask(
      "SELECT indisvalid FROM pg_index"
      " WHERE indrelid = to_regclass($1) AND indexrelid = to_regclass($2) AND " +
          std::string(kByPrimary),
      Parameters().Text(table).Text(index), deadline);
  if (found.size() == 0) return false;
  if (found.Number(0, 0) == 0)
    Refuse("the index " + index + " is not valid: drop it, and try again");
  return true;
}

}  // namespace

std::string FindSchema(Pool& pool, Deadline deadline) {
  const Pool::Lent connection = pool.Take(deadline);
  const Result found = connection->Ask(
      "SELECT current_schema(), current_setting('server_version_num')::int,"
      " current_setting('server_encoding') WHERE " +
          std::string(kByPrimary),
      {}, deadline);
  if (found.Number(0, 1) < kOldestServer) Refuse("the server is older than version 14");
  if (found.Text(0, 2) != "UTF8") {
    Refuse("the database's encoding is not UTF8: create one with ENCODING 'UTF8'");
  }
  if (found.IsNull(0, 0))
    Refuse("the search path names no schema that exists and that the user has USAGE of");
  return std::string(found.Text(0, 0));
}

void CreateTable(Connection& connection, const std::string& schema,
                 const PostgresqlCollection& collection, Deadline deadline) {
  if (!Exists(connection, collection.table(), deadline)) {
    SendBegin(connection);
    connection.Command(DefinitionOfMeta(MetaTable(schema)));
    connection.Command(DefinitionOf(collection.table(), collection.key_constraint()));
    try {
      connection.RunAndCommit(deadline);
    } catch (const Refusal& refusal) {
      if (refusal.state != kNoPrivilege) throw;
      Refuse("the user may not make the table " + collection.table() +
             " (SQLSTATE 42501): grant CREATE on its schema, give the user a schema of its own, or "
             "let another user run what PostgresqlTables() returns");
    }
  }
  CheckTable(connection, collection, deadline);
  if (Keep(connection, schema, "schema", kSchemaNumber, deadline) != kSchemaNumber) {
    Refuse("the tables are of another version of this library");
  }
  // The names of two long collections may end with the same hash.
  const std::string of = RecordOf(collection.table_name());
  if (Keep(connection, schema, of, collection.name(), deadline) != collection.name()) {
    Refuse("the table " + collection.table() + " is that of another collection");
  }
}

std::vector<std::string> ListCollections(Connection& connection, const std::string& schema,
                                         Deadline deadline) {
  if (!MayRead(connection, MetaTable(schema), deadline)) return {};  // none can be opened
  const Result found = connection.Ask(
      "SELECT value FROM " + MetaTable(schema) +
          " JOIN pg_class ON name = $1 || relname WHERE relnamespace = to_regnamespace($2) AND " +
          std::string(kByPrimary),
      Parameters().Text(RecordOf("")).Text(QuotedName(schema)), deadline);
  std::vector<std::string> names;
  for (int row = 0; row < found.size(); ++row) names.emplace_back(found.Text(row, 0));
  return names;
}

void CreateIndex(Connection& connection, const PostgresqlCollection& collection,
                 const IndexSpec& index, Deadline deadline) {
  std::string columns;
  for (const std::string& field : index.fields) {
    const std::string at = PathIntoBody(Filter().OrderBy(field).order());
    columns += (columns.empty() ? "" : ", ") + (index.unique ? ForUniqueIndex(at) : ForIndex(at));
  }
  // The order of ties, unless there are too many columns.
  const bool has_key = !index.unique && index.fields.size() + 3 <= kMostColumns;
  if (has_key) columns += ", " + std::string(kKeyColumns);
  // An index of another definition, as another version made it, is another index.
  const std::string hash = HashText(collection.table_name() +
                                    (index.unique ? nlohmann::json(index.fields).dump() : columns));
  const std::string name = QuotedName((index.unique ? "doclock_u_" : "doclock_i_") + hash);
  const std::string& table = collection.table();
  const std::string qualified =
      table.substr(0, table.size() - QuotedName(collection.table_name()).size()) + name;
  for (auto pause = kFirstPause; !HasIndex(connection, table, qualified, deadline);
       pause = std::min(pause * 2, kLongestPause)) {
    SendBegin(connection);
    connection.Command(kBriefLocks);
    connection.Command("CREATE " + std::string(index.unique ? "UNIQUE " : "") +
                       "INDEX IF NOT EXISTS " + name + " ON " + table + "(" + columns + ")");
    connection.Command("COMMENT ON INDEX " + qualified + " IS " +
                       QuotedText(FieldList(index.fields)));
    try {
      return connection.RunAndCommit(deadline);
    } catch (const Refusal& refusal) {
      if (refusal.IsRepeatedValue()) ThrowRepeatedValues(index.fields);
      if (refusal.state == kNoPrivilege) {
        Refuse("the user may not make an index of the table " + table +
               " (SQLSTATE 42501): let its owner call EnsureIndex(es)");
      }
      if (!refusal.IsKept() || std::chrono::steady_clock::now() + pause >= deadline) throw;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace doclock::postgresql
