#include "postgresql/tables/postgresql_collection.h"

#include <cstdint>
#include <utility>

#include "doclock/stores/postgresql.h"
#include "document/collection.h"
#include "postgresql/client/quoted.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

constexpr std::size_t kLongestName = 50;

constexpr const char* kWhereKey = " WHERE key_kind = $1 AND key_number = $2 AND key_text = $3";

/// A number that is equal in every program.
std::uint64_t Hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// "$4, $5, ..."
std::string Places(int first, int count) {
  std::string places;
  for (int i = first; i < first + count; ++i) {
    places += (places.empty() ? "$" : ", $") + std::to_string(i);
  }
  return places;
}

std::string Select(const std::string& table, const char* lock) {
  return "SELECT " + std::string(kReadColumns).append(kWholeBody) + " FROM " + table + kWhereKey +
         " AND " + std::string(kByPrimary) + lock;
}

/// A write that fails (Refusal::IsUnwritten) if it wrote no row.
std::string WriteOne(const std::string& write) {
  return "WITH written AS (" + write + " RETURNING 1) SELECT ln(count(*)) FROM written";
}

std::string Update(const std::string& table, const std::string& columns, int count) {
  return WriteOne("UPDATE " + table + " SET (" + columns + ") = ROW(" + Places(4, count) + ")" +
                  kWhereKey);
}

/// No share, no waiter.
constexpr const char* kAlone = " AND lock_shares IS NULL AND lock_queue IS NULL";
std::string IsTime(const std::string& column) {
  return " AND coalesce(" + column + " BETWEEN '2000-01-01Z' AND '2071-05-01Z', true)";
}

std::string IsText(const std::string& member) {
  return " AND coalesce(jsonb_typeof(lock_owner -> '" + member + "'), 'string') = 'string'";
}

std::string LongestTtl() { return std::to_string(rules::kLongestLease.count()); }

/// The lock is as records::FromJson reads it. Of what is malformed the long way tells.
std::string Sound() {
  return " AND lock_version BETWEEN 0 AND 4611686018427387903 AND lock_born IS NOT NULL"
         " AND coalesce(lock_ttl BETWEEN 0 AND " +
         LongestTtl() +
         ", true)"
         " AND coalesce(lock_fence BETWEEN 0 AND 4611686018427387903, true)" +
         IsTime("lock_time") + IsTime("lock_since") + IsTime("lock_closed") + IsText("name") +
         IsText("host") +
         " AND coalesce(jsonb_typeof(lock_owner -> 'pid') = 'number' AND"
         " lock_owner ->> 'pid' ~ '^[0-9]{1,18}$', lock_owner IS NULL)";
}

/// As LockState::RaiseVersion. The session has the floor of its connection.
std::string Raised() {
  return "greatest(lock_version + 1, nullif(current_setting('doclock.floor', true), '')::int8)";
}
/// What a grant gives, in the order of AddGrant, and what it changes.
std::vector<Given> OfGrant() {
  return {{"next", "uuid"}, {"ttl", "int8"}, {"owner", "jsonb"}, {"its_group", "text"}};
}
std::string Granted() {
  return "lock_version = " + Raised() + ", lock_fence = " + Raised() +
         ", lock_id = given.next,"
         " lock_ttl = given.ttl, lock_owner = given.owner, lock_group = given.its_group,"
         " lock_time = given.now, lock_since = given.now";
}

constexpr const char* kEnd = "lock_time + lock_ttl * interval '1 millisecond'";

/// A write of the lock's holder. Without a body it leaves the one that is there.
RowUpdate HolderUpdate(const std::string& table, std::vector<Given> given,
                       const std::string& changes, const std::string& more = "") {
  const std::vector<Given> first{{"id", "uuid"}, {"expected", "int8"}};
  given.insert(given.begin(), first.begin(), first.end());
  return {
      table, given,
      "lock_id = given.id AND given.expected IN (-1, lock_version)" + std::string(kAlone) + Sound(),
      changes + ", body = coalesce(given.new_body, body)", "lock_version" + more};
}

/// Does a store want hints (Listener)? A client that asks this at the same moment looks like one.
std::string Listens(const std::string& lock) {
  return "NOT CASE WHEN pg_try_advisory_lock(" + lock + ") THEN pg_advisory_unlock(" + lock +
         ") ELSE false END";
}

std::vector<Given> WithBody(const Given& first, std::vector<Given> more = {}) {
  const std::vector<Given> all{first, {"new_body", "jsonb"}};
  more.insert(more.begin(), all.begin(), all.end());
  return more;
}

}  // namespace

std::string TableName(const std::string& collection) {
  const bool fits = collection.size() <= kLongestName;
  return "doclock_c_" + (fits ? collection : collection.substr(0, 37) + '~' + HashText(collection));
}

std::string HashText(std::string_view text) {
  const std::uint64_t hash = Hash(text);
  std::string digits;
  for (int shift = 60; digits.size() < 12; shift -= 4) {
    digits += "0123456789abcdef"[hash >> shift & 15];
  }
  return digits;
}

const Statement& AsksForListeners() {
  return Fixed<[] { return "SELECT " + Listens("$1"); }>();
}

PostgresqlCollection::PostgresqlCollection(std::string name, const LockFieldNames& fields,
                                           std::chrono::milliseconds default_ttl,
                                           const std::string& schema)
    : Collection(std::move(name), fields, default_ttl),
      table_name_(TableName(this->name())),
      table_(QuotedName(schema) + "." + QuotedName(table_name_)),
      hint_lock_(static_cast<std::int64_t>(Hash(table_))),
      read{Select(table_, "")},
      lock{Select(table_, " FOR NO KEY UPDATE")},
      lock_free{Select(table_, " FOR NO KEY UPDATE SKIP LOCKED")},
      exists{"SELECT 1 FROM " + table_ + kWhereKey + " AND " + std::string(kByPrimary)},
      insert{WriteOne("INSERT INTO " + table_ + "(" + std::string(kKeyColumns) + ", " +
                      std::string(kLockColumns) + ", body) VALUES(" +
                      Places(1, 3 + kLockColumnCount + 1) + ")")},
      update{Update(table_, std::string(kLockColumns) + ", body", kLockColumnCount + 1)},
      update_lock{Update(table_, std::string(kLockColumns), kLockColumnCount)},
      erase{WriteOne("DELETE FROM " + table_ + kWhereKey)},
      take_free(table_, OfGrant(),
                "lock_id IS NULL AND lock_closed IS NULL" + std::string(kAlone) + Sound(),
                Granted(), "lock_version, lock_born, " + std::string(kWholeBody)),
      renew(table_, {{"id", "uuid"}, {"ttl", "int8"}},
            "lock_id = given.id" + std::string(kAlone) + Sound() + " AND " + kEnd +
                " > clock_timestamp()",
            "lock_time = given.now, lock_ttl = least(" + LongestTtl() +
                ", greatest(given.ttl, ceil(extract(epoch FROM " + kEnd +
                " - given.now) * 1000)::int8))",
            "1", true),
      release(HolderUpdate(
          table_, WithBody({"mark", "uuid"}),
          "lock_version = " + Raised() + ", lock_id = NULL, lock_released = given.mark",
          ", " + Listens(std::to_string(hint_lock_)))),
      // Not from before a wait for the row: a renewal may have come between, and got its time.
      checkpoint(HolderUpdate(
          table_, WithBody({"ttl", "int8"}),
          "lock_version = " + Raised() + ", lock_time = clock_timestamp(), lock_ttl = given.ttl")),
      hand_over(HolderUpdate(table_, WithBody({"mark", "uuid"}, OfGrant()),
                             Granted() + ", lock_released = given.mark")) {}

// What a lock changes stands before the body, and in no index: an update then logs little, and
// touches no index.
std::string DefinitionOf(const std::string& table, const std::string& key_constraint) {
  return "CREATE TABLE IF NOT EXISTS " + table + R"((
  lock_version int8 NOT NULL DEFAULT 0,
  lock_ttl int8,
  lock_time timestamptz,
  lock_since timestamptz,
  lock_closed timestamptz,
  lock_fence int8,
  lock_id uuid,
  lock_released uuid,
  lock_born uuid,
  key_kind int2 NOT NULL DEFAULT 0,
  key_number int8 NOT NULL DEFAULT 0,
  key_text text COLLATE "C" NOT NULL DEFAULT '',
  lock_owner jsonb,
  lock_group text,
  lock_shares jsonb,
  lock_queue jsonb,
  body jsonb NOT NULL,
  CONSTRAINT )" +
         QuotedName(key_constraint) + R"( PRIMARY KEY (key_kind, key_number, key_text)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0))";
}

std::string DefinitionOfMeta(const std::string& table) {
  return "CREATE TABLE IF NOT EXISTS " + table +
         "(name text COLLATE \"C\" PRIMARY KEY, value text NOT NULL)";
}

std::string RecordOf(const std::string& table) { return "collection of " + table; }

}  // namespace doclock::postgresql

namespace doclock {

std::string PostgresqlTables(const std::string& collection) {
  CheckCollectionName(collection);
  const std::string table = postgresql::TableName(collection);
  return postgresql::DefinitionOfMeta("doclock_meta") + ";\n" +
         postgresql::DefinitionOf(postgresql::QuotedName(table), postgresql::KeyConstraint(table)) +
         ";\nINSERT INTO doclock_meta VALUES (" +
         postgresql::QuotedText(postgresql::RecordOf(table)) + ", " +
         postgresql::QuotedText(collection) + ") ON CONFLICT DO NOTHING;\n";
}

std::string PostgresqlFence(const std::string& collection, const Key& key, std::int64_t fence) {
  CheckCollectionName(collection);
  const postgresql::KeyColumns columns = postgresql::ColumnsOf(key);
  return "SELECT FROM " + postgresql::QuotedName(postgresql::TableName(collection)) +
         " WHERE key_kind = " + std::to_string(columns.kind) +
         " AND key_number = " + std::to_string(columns.number) +
         " AND key_text = " + postgresql::QuotedText(columns.text) +
         " AND lock_id IS NOT NULL AND lock_shares IS NULL AND lock_fence = " +
         std::to_string(fence) + " FOR SHARE";
}

}  // namespace doclock
