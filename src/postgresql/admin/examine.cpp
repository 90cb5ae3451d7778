#include "postgresql/admin/examine.h"

#include <utility>

#include "postgresql/client/quoted.h"
#include "postgresql/tables/schema.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

constexpr auto kLong = std::chrono::minutes(1);
constexpr std::int64_t kManyDead = 10'000;

/// Of the schema's name ($1), and the table's or NULL ($2): then all tables of collections count.
constexpr const char* kFacts = R"(
WITH begun AS (
  SELECT xact_start AS at FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type IS DISTINCT FROM 'autovacuum worker'
    AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
  UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()
), ours AS (
  SELECT oid, relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'
    AND (relname LIKE 'doclock\_c\_%' AND ($2::text IS NULL OR oid = to_regclass($2))
      OR relname = 'doclock_meta')
), lacked AS (
  SELECT privilege || ' on ' || relname AS what
  FROM ours, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) privilege
  WHERE NOT has_table_privilege(oid, privilege)
    AND (relname <> 'doclock_meta' OR privilege IN ('SELECT', 'INSERT'))
)
SELECT
  current_setting('server_version'),
  (SELECT string_agg(name, ' and ' ORDER BY name) FROM pg_settings
   WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'),
  (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
  (SELECT count(*) FROM pg_stat_replication f
   WHERE coalesce(state, 'streaming') IN ('catchup', 'streaming') AND NOT EXISTS (
     SELECT FROM pg_replication_slots WHERE active_pid = f.pid AND slot_type = 'logical')),
  current_setting('synchronous_standby_names') <> '',
  pg_backend_pid(),
  (SELECT extract(epoch FROM clock_timestamp() - min(at))::int8 FROM begun),
  (SELECT count(*) FROM begun WHERE at IS NULL),
  (SELECT count(*) FROM lacked),
  (SELECT min(what) FROM lacked),
  has_schema_privilege(to_regnamespace($1)::oid, 'CREATE'),
  EXISTS (SELECT FROM ours WHERE relname <> 'doclock_meta'),
  EXISTS (SELECT FROM ours),
  (SELECT min(relname)::text FROM ours WHERE row_security_active(oid)),
  n_live_tup, n_dead_tup
FROM (SELECT) one LEFT JOIN pg_stat_user_tables ON relid = to_regclass($2))";

Finding Ok(const char* check, std::string text) {
  return {check, FindingLevel::kOk, std::move(text)};
}
Finding Warning(const char* check, std::string text, std::string advice) {
  return {check, FindingLevel::kWarning, std::move(text), std::move(advice)};
}
Finding Problem(const char* check, std::string text, std::string advice) {
  return {check, FindingLevel::kProblem, std::move(text), std::move(advice)};
}

Finding JudgeDurability(const Facts& facts) {
  if (!facts.unsafe.empty()) {
    return Warning("durability", "the server runs without " + facts.unsafe,
                   "switch it on: a crash of the machine may undo locks, or damage all data");
  }
  const std::string& usual = facts.synchronous_commit;
  const bool is_less = usual == "off" || usual == "local";
  return Ok("durability", is_less
                              ? "synchronous_commit is on, although the user's default is " + usual
                              : "synchronous_commit is " + usual);
}

Finding JudgeFollowers(const Facts& facts) {
  if (facts.followers == 0) return Ok("standbys", "no server follows this one");
  const std::string servers = std::to_string(facts.followers) + " servers follow this one";
  if (facts.waits_for_followers) return Ok("standbys", servers + "; commits wait for standbys");
  return Warning(
      "standbys", servers + ", and no commit waits for them",
      "a standby that is promoted may lack acknowledged locks and saves, and may grant such "
      "a lock again, with a higher fence: set synchronous_standby_names");
}

Finding JudgePooler(const Facts& facts) {
  if (!facts.has_pooler) return Ok("pooler", "the connection looks like the server's own");
  if (!facts.shares_sessions) return Ok("pooler", "a pooler keeps whole sessions");
  return Warning(
      "pooler", "a pooler gives each transaction another session",
      "waiters of other processes are not notified, and poll: name the server itself, or "
      "let the pooler keep whole sessions (of pgbouncer: pool_mode = session)");
}

Finding JudgeEpoch(const Facts& facts) {
  if (facts.knows_epoch) return Ok("epoch", "fences rise above those of a server before this one");
  return Warning("epoch", "the server's epoch is not known",
                 "grant SELECT and INSERT on doclock_meta, and EXECUTE on pg_control_system() and "
                 "pg_walfile_name(): fences may come again when a standby is promoted");
}

Finding JudgeTransactions(const Facts& facts) {
  if (facts.open_for && *facts.open_for >= kLong) {
    return Warning("transactions",
                   "a transaction of another program has been open for " +
                       std::to_string(facts.open_for->count()) + " s",
                   "end it (pg_stat_activity and pg_prepared_xacts name it): meanwhile the old "
                   "versions of all rows stay, and documents that are often locked get slow");
  }
  if (facts.ageless == 0) return Ok("transactions", "no transaction has been open for long");
  return Ok("transactions", "open transactions of other users, whose age is not shown: " +
                                std::to_string(facts.ageless));
}

Finding JudgePrivileges(const Facts& facts) {
  if (facts.lacking > 0) {
    const std::string more =
        facts.lacking == 1 ? "" : ", and more: " + std::to_string(facts.lacking - 1);
    return Problem("privileges", "the user lacks " + facts.lacks + more,
                   "grant SELECT, INSERT, UPDATE and DELETE on the tables doclock_c_*, and SELECT "
                   "and INSERT on doclock_meta");
  }
  if (!facts.creates && !facts.has_table) {
    return Problem("privileges",
                   "the user may create no table in the schema " + facts.schema +
                       ", and there is none of the collection",
                   "grant CREATE on the schema, or CREATE SCHEMA name AUTHORIZATION user; or let "
                   "another user run what PostgresqlTables() returns");
  }
  return Ok("privileges",
            std::string("the user may do all that locks need") +
                (facts.creates ? "" : ", but create no table: another user makes collections"));
}

Finding JudgeRows(const Facts::Rows& rows) {
  const std::string text = std::to_string(rows.dead) + " dead rows beside " +
                           std::to_string(rows.live) + " documents (estimated)";
  if (rows.dead < kManyDead || rows.dead < rows.live) return Ok("dead rows", text);
  return Warning("dead rows", text,
                 "look for long transactions, and let autovacuum come more often "
                 "(autovacuum_naptime, autovacuum_max_workers)");
}

}  // namespace

Facts ReadFacts(Connection& connection, const std::string& schema,
                const PostgresqlCollection* collection, Deadline deadline) {
  Parameters names;
  names.Text(QuotedName(schema));
  collection == nullptr ? names.Null() : names.Text(collection->table());
  const Result row = connection.Ask(kFacts, names, deadline);
  int column = 0;
  const auto text = [&] {
    const int at = column++;
    return row.IsNull(0, at) ? std::string() : std::string(row.Text(0, at));
  };
  const auto number = [&] { return row.NumberIfAny(0, column++); };
  Facts facts;
  facts.schema = schema;
  // In the order of kFacts.
  facts.version = text();
  facts.unsafe = text();
  facts.synchronous_commit = text();
  facts.followers = number();
  facts.waits_for_followers = number() != 0;
  facts.has_pooler = number() != connection.backend();
  if (!row.IsNull(0, column)) facts.open_for = std::chrono::seconds(row.Number(0, column));
  ++column;
  facts.ageless = number();
  facts.lacking = number();
  facts.lacks = text();
  facts.creates = number() != 0;
  facts.has_table = number() != 0;
  facts.knows_epoch = number() == 0 || KnowsEpoch(connection, schema, deadline);
  facts.filtered = text();
  const std::int64_t live = number();
  if (!row.IsNull(0, column)) facts.rows = {live, number()};
  facts.shares_sessions = connection.shares_sessions();
  return facts;
}

std::vector<Finding> Judge(const Facts& facts) {
  std::vector<Finding> findings{
      Ok("server", "PostgreSQL " + facts.version),
      Ok("schema", "the tables are in the schema " + facts.schema),
      JudgeDurability(facts),
      JudgeFollowers(facts),
      JudgeEpoch(facts),
      JudgePooler(facts),
      JudgeTransactions(facts),
      JudgePrivileges(facts),
  };
  if (!facts.filtered.empty()) {
    findings.push_back(Problem(
        "row security", "row security may hide rows of " + facts.filtered + " from the user",
        "give the tables of this library no policies, or the user BYPASSRLS"));
  }
  if (facts.rows) findings.push_back(JudgeRows(*facts.rows));
  return findings;
}

std::vector<Finding> Examine(Connection& connection, const std::string& schema,
                             const PostgresqlCollection* collection, Deadline deadline) {
  try {
    return Judge(ReadFacts(connection, schema, collection, deadline));
  } catch (const Refusal& refusal) {
    return {Warning("server", "it cannot be examined (SQLSTATE " + refusal.state + ")",
                    "use a user that may read the system's catalogs")};
  }
}

}  // namespace doclock::postgresql
