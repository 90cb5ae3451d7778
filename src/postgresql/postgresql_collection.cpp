#include "postgresql/postgresql_collection.h"

#include <cstdint>
#include <utility>

#include "postgresql/rows.h"
#include "postgresql/texts.h"

namespace doclock::postgresql {
namespace {

constexpr std::size_t kLongestName = 50;

std::string TableName(const std::string& name) {
  const bool fits = name.size() <= kLongestName;
  return "doclock_c_" + (fits ? name : name.substr(0, 37) + '~' + HashText(name));
}

constexpr const char* kWhereKey = " WHERE key_kind = $1 AND key_number = $2 AND key_text = $3";

/// The same in every program.
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
         lock;
}

std::string Update(const std::string& table, const std::string& columns, int count) {
  return "UPDATE " + table + " SET (" + columns + ") = ROW(" + Places(4, count) + ")" + kWhereKey;
}

/// An update of a key's row, if it meets `condition` and no transaction keeps it. The time is
/// `found.now`.
std::string UpdateIf(const std::string& table, const std::string& condition,
                     const std::string& changes) {
  return "UPDATE " + table + " SET " + changes +
         " FROM (SELECT ctid AS at, clock_timestamp() AS now FROM " + table + kWhereKey + " AND " +
         condition + " FOR NO KEY UPDATE SKIP LOCKED) AS found WHERE " + table +
         ".ctid = found.at RETURNING ";
}

/// No share, no waiter, and a version that this library writes.
constexpr const char* kAlone =
    " AND lock_shares IS NULL AND lock_queue IS NULL"
    " AND lock_version BETWEEN 0 AND 4611686018427387903";
/// What a grant replaces is what this library writes.
constexpr const char* kSound =
    " AND lock_born IS NOT NULL AND coalesce(lock_ttl, 0) >= 0 AND coalesce(lock_fence, 0) >= 0"
    " AND coalesce(isfinite(lock_time) AND isfinite(lock_since), true)"
    " AND coalesce(jsonb_typeof(lock_owner), 'object') = 'object'";

/// A write of the lock's holder.
std::string HolderUpdate(const std::string& table, const std::string& changes) {
  return UpdateIf(table, "lock_id = $4 AND $5::int8 IN (-1, lock_version)" + std::string(kAlone),
                  "lock_version = lock_version + 1, " + changes) +
         "lock_version";
}

constexpr const char* kWithBody = ", body = $7, body_text = $8";
constexpr const char* kUnlock = "lock_id = NULL, lock_released = $6";

}  // namespace

std::string HashText(std::string_view text) {
  const std::uint64_t hash = Hash(text);
  std::string digits;
  for (int shift = 60; digits.size() < 12; shift -= 4) {
    digits += "0123456789abcdef"[hash >> shift & 15];
  }
  return digits;
}

PostgresqlCollection::PostgresqlCollection(std::string name, const LockFieldNames& fields,
                                           std::chrono::milliseconds default_ttl,
                                           const std::string& schema)
    : PostgresqlCollection(name, fields, default_ttl, TableName(name),
                           QuotedName(schema) + "." + QuotedName(TableName(name))) {}

PostgresqlCollection::PostgresqlCollection(std::string name, const LockFieldNames& fields,
                                           std::chrono::milliseconds default_ttl,
                                           std::string table_name, std::string table)
    : Collection(std::move(name), fields, default_ttl),
      read{Select(table, "")},
      lock{Select(table, " FOR NO KEY UPDATE")},
      lock_free{Select(table, " FOR NO KEY UPDATE SKIP LOCKED")},
      exists{"SELECT 1 FROM " + table + kWhereKey},
      insert{"INSERT INTO " + table + "(" + std::string(kKeyColumns) + ", " +
             std::string(kLockColumns) + ", body, body_text) VALUES(" +
             Places(1, 3 + kLockColumnCount + 2) + ")"},
      update{Update(table, std::string(kLockColumns) + ", body, body_text", kLockColumnCount + 2)},
      update_lock{Update(table, std::string(kLockColumns), kLockColumnCount)},
      erase{"DELETE FROM " + table + kWhereKey},
      take_free{
          UpdateIf(table, "lock_id IS NULL AND lock_closed IS NULL" + std::string(kAlone) + kSound,
                   "lock_version = lock_version + 1, lock_fence = lock_version + 1, lock_id = $4,"
                   " lock_ttl = $5, lock_owner = $6, lock_group = $7, lock_time = found.now,"
                   " lock_since = found.now") +
          "lock_version, lock_born, " + std::string(kWholeBody)},
      renew{
          UpdateIf(table,
                   "lock_id = $4 AND lock_shares IS NULL AND lock_ttl >= 0 AND"
                   " lock_time + lock_ttl * interval '1 millisecond' > clock_timestamp()",
                   "lock_time = found.now, lock_ttl = greatest($5::int8, ceil(extract(epoch FROM"
                   " lock_time + lock_ttl * interval '1 millisecond' - found.now) * 1000)::int8)") +
          "1"},
      unlock{HolderUpdate(table, kUnlock)},
      release{HolderUpdate(table, std::string(kUnlock) + kWithBody)},
      checkpoint{
          HolderUpdate(table, std::string("lock_time = found.now, lock_ttl = $6") + kWithBody)},
      table_name_(std::move(table_name)),
      table_(std::move(table)),
      hint_lock_(static_cast<std::int64_t>(Hash(table_))) {}

// What a lock changes stands before the body, and in no index: an update then logs little, and
// touches no index.
std::string PostgresqlCollection::Definition() const {
  return "CREATE TABLE IF NOT EXISTS " + table_ + R"((
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
  body_text text,
  body jsonb NOT NULL,
  CONSTRAINT )" +
         QuotedName(key_constraint()) + R"( PRIMARY KEY (key_kind, key_number, key_text)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0))";
}

}  // namespace doclock::postgresql
