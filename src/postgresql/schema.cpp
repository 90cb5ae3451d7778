#include "postgresql/schema.h"

#include <nlohmann/json.hpp>

#include "doclock/errors.h"
#include "document/collection.h"
#include "postgresql/rows.h"
#include "postgresql/search.h"
#include "postgresql/texts.h"

namespace doclock::postgresql {
namespace {

/// Of the tables that this version makes and understands.
constexpr const char* kSchemaNumber = "1";
constexpr int kOldestServer = 140000;
/// More grants and writes than a document has before one standby is promoted and the next.
constexpr int kEpochBits = 40;
/// Before the name of a table: the setting that is the collection's own name.
const std::string kCollectionOf = "collection of ";

/// Sends a transaction that one client after the other runs: CREATE ... IF NOT EXISTS of several at
/// once may fail.
void SendBegin(Connection& connection) {
  connection.Begin();
  connection.SendOnce("SELECT pg_advisory_xact_lock(hashtext('doclock'))");
}

void RunAndCommit(Connection& connection, Deadline deadline) {
  connection.SendOnce("COMMIT");
  try {
    connection.Run(deadline);
  } catch (const Refusal&) {
    connection.SendOnce("ROLLBACK");
    connection.RunUnheard();
    throw;
  }
}

[[noreturn]] void Refuse(const std::string& what) {
  throw StoreException(Errc::kRefused, "doclock: PostgreSQL: " + what);
}

std::string Meta(const std::string& schema) { return QuotedName(schema) + ".doclock_meta"; }

/// Does the table have the columns of a collection?
void CheckTable(Connection& connection, const PostgresqlCollection& collection, Deadline deadline) {
  connection.SendOnce("SELECT " + std::string(kReadColumns).append(kWholeBody) + " FROM " +
                      collection.table() + " LIMIT 0");
  try {
    connection.Run(deadline);
  } catch (const Refusal& refusal) {
    if (refusal.state != "42703") throw;
    Refuse("the table " + collection.table() + " is not one of this library");
  }
}

bool Exists(Connection& connection, const std::string& table, Deadline deadline) {
  Parameters name;
  name.Text(table);
  connection.SendOnce("SELECT to_regclass($1)", name);
  return !connection.Run(deadline).back().IsNull(0, 0);
}

/// False too if it is not there.
bool MayRead(Connection& connection, const std::string& table, Deadline deadline) {
  connection.SendOnce("SELECT coalesce(has_table_privilege(to_regclass($1), 'SELECT'), false)",
                      Parameters().Text(table));
  return connection.Run(deadline).back().Number(0, 0) != 0;
}

/// The value that stays under a name: this one, or the one before it.
std::string Keep(Connection& connection, const std::string& schema, const std::string& name,
                 const std::string& value, Deadline deadline) {
  Parameters both;
  both.Text(name).Text(value);
  const std::string meta = Meta(schema);
  connection.SendOnce("INSERT INTO " + meta + " VALUES($1, $2) ON CONFLICT (name) DO NOTHING",
                      both);
  connection.SendOnce("SELECT value FROM " + meta + " WHERE name = $1", Parameters().Text(name));
  return std::string(connection.Run(deadline).back().Text(0, 0));
}

}  // namespace

std::string FindSchema(Pool& pool, Deadline deadline) {
  const Pool::Lent connection = pool.Take(deadline);
  connection->SendOnce("SELECT current_schema(), current_setting('server_version_num')::int");
  const Result found = std::move(connection->Run(deadline).back());
  if (found.Number(0, 1) < kOldestServer) Refuse("the server is older than version 14");
  if (found.IsNull(0, 0)) Refuse("the search path names no schema that exists");
  return std::string(found.Text(0, 0));
}

std::optional<Epoch> FindEpoch(Connection& connection, const std::string& schema,
                               Deadline deadline) {
  const std::string here = "(SELECT " + std::string(kThisServer) + " AS server) AS here";
  const std::string name = "'epoch of ' || server";
  // An epoch that was lost itself lies in the difference of the timelines.
  const std::string next =
      "SELECT value::int8 + CASE WHEN split_part(name, '/', 1) = split_part(" + name +
      ", '/', 1) THEN greatest(split_part(server, '/', 2)::int8 - split_part(name, '/', 2)::int8,"
      " 1) ELSE 1 END FROM " +
      Meta(schema) + " WHERE name LIKE 'epoch of %' ORDER BY value::int8 DESC LIMIT 1";
  try {
    for (const bool is_first : {true, false}) {
      connection.SendOnce("SELECT server, value::int8 FROM " + here + " LEFT JOIN " + Meta(schema) +
                          " ON name = " + name);
      const Result found = std::move(connection.Run(deadline).back());
      if (!found.IsNull(0, 1)) {
        return Epoch{std::string(found.Text(0, 0)), found.Number(0, 1) << kEpochBits};
      }
      if (!is_first) break;
      connection.Begin();
      connection.SendOnce("INSERT INTO " + Meta(schema) + " SELECT " + name + ", coalesce((" +
                          next + "), 0) FROM " + here + " ON CONFLICT (name) DO NOTHING");
      RunAndCommit(connection, deadline);
    }
  } catch (const Refusal& refusal) {
    if (!refusal.TellsOfNothing()) throw;
  }
  return std::nullopt;
}

void CreateTable(Connection& connection, const std::string& schema,
                 const PostgresqlCollection& collection, Deadline deadline) {
  if (!Exists(connection, collection.table(), deadline)) {
    SendBegin(connection);
    connection.SendOnce(DefinitionOfMeta(Meta(schema)));
    connection.SendOnce(DefinitionOf(collection.table(), collection.key_constraint()));
    RunAndCommit(connection, deadline);
  }
  CheckTable(connection, collection, deadline);
  if (Keep(connection, schema, "schema", kSchemaNumber, deadline) != kSchemaNumber) {
    Refuse("the tables are of another version of this library");
  }
  // The names of two long collections may end with the same hash.
  const std::string of = kCollectionOf + collection.table_name();
  if (Keep(connection, schema, of, collection.name(), deadline) != collection.name()) {
    Refuse("the table " + collection.table() + " is that of another collection");
  }
}

std::vector<std::string> ListCollections(Connection& connection, const std::string& schema,
                                         Deadline deadline) {
  if (!MayRead(connection, Meta(schema), deadline)) return {};  // none can be opened
  connection.SendOnce("SELECT value FROM " + Meta(schema) +
                          " JOIN pg_class ON name = $1 || relname"
                          " WHERE relnamespace = to_regnamespace($2)",
                      Parameters().Text(kCollectionOf).Text(QuotedName(schema)));
  const Result found = std::move(connection.Run(deadline).back());
  std::vector<std::string> names;
  for (int row = 0; row < found.size(); ++row) names.emplace_back(found.Text(row, 0));
  return names;
}

void CreateIndex(Connection& connection, const PostgresqlCollection& collection,
                 const IndexSpec& index, Deadline deadline) {
  std::string columns;
  for (const std::string& field : index.fields) {
    const std::string at = PathIntoBody(Filter().OrderBy(field).order());
    // Neither a missing value nor a null repeats another one.
    columns += (columns.empty() ? "" : ", ") + (index.unique ? "NULLIF(" + at + ", 'null')" : at);
  }
  const std::string hash = HashText(collection.table_name() + nlohmann::json(index.fields).dump());
  const std::string name = QuotedName((index.unique ? "doclock_u_" : "doclock_i_") + hash);
  SendBegin(connection);
  connection.SendOnce("CREATE " + std::string(index.unique ? "UNIQUE " : "") +
                      "INDEX IF NOT EXISTS " + name + " ON " + collection.table() + "(" + columns +
                      ")");
  const std::string schema = collection.table().substr(0, collection.table().rfind(".\"") + 1);
  connection.SendOnce("COMMENT ON INDEX " + schema + name + " IS " +
                      QuotedText(FieldList(index.fields)));
  try {
    RunAndCommit(connection, deadline);
  } catch (const Refusal& refusal) {
    if (!refusal.IsRepeatedValue()) throw;
    ThrowRepeatedValues(index.fields);
  }
}

}  // namespace doclock::postgresql
