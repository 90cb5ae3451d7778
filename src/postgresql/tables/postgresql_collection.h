#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "doclock/store/operations.h"
#include "document/watchers.h"
#include "postgresql/client/connection.h"
#include "postgresql/tables/row_update.h"

namespace doclock::postgresql {

/// The name of a collection's table, without its schema.
std::string TableName(const std::string& collection);
/// The name of the table's constraint that refuses a key which is there. PostgreSQL cuts it off.
inline std::string KeyConstraint(const std::string& table_name) {
  return (table_name + "_key").substr(0, 63);
}
/// What creates a collection's table, and that of all collections' names.
std::string DefinitionOf(const std::string& table, const std::string& key_constraint);
std::string DefinitionOfMeta(const std::string& table);
/// The name of doclock_meta's row that tells which collection the table is.
std::string RecordOf(const std::string& table);

/// A collection: one table, and the statements on it.
class PostgresqlCollection final : public Collection,
                                   public std::enable_shared_from_this<PostgresqlCollection> {
 public:
  PostgresqlCollection(std::string name, const LockFieldNames& fields,
                       std::chrono::milliseconds default_ttl, const std::string& schema);

  /// The table's name without its schema, which is that of its channel too. PostgreSQL cuts longer
  /// names than 63 bytes off, so those of long collections end with a hash.
  [[nodiscard]] const std::string& table_name() const noexcept { return table_name_; }
  /// The name in statements.
  [[nodiscard]] const std::string& table() const noexcept { return table_; }
  [[nodiscard]] std::string key_constraint() const { return KeyConstraint(table_name_); }
  /// The advisory lock that stores share while they want hints.
  [[nodiscard]] std::int64_t hint_lock() const noexcept { return hint_lock_; }
  [[nodiscard]] Watchers& watchers() noexcept { return *watchers_; }

 private:
  const std::string table_name_, table_;  // the statements below name it
  const std::int64_t hint_lock_;
  const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();

 public:
  /// The row of a key: as it stands; locked, when other transactions have ended; locked, or none if
  /// another transaction has locked it.
  const Statement read, lock, lock_free;
  /// Is there a row?
  const Statement exists;
  /// Takes a key, a lock and a body. Writes are refused (Refusal::IsUnwritten) if a trigger has
  /// kept the row from being written.
  const Statement insert, update;
  /// Takes a key and a lock.
  const Statement update_lock;
  const Statement erase;
  /// Takes a grant. Locks the document if it is free, and no client waits or is kept out.
  const RowUpdate take_free;
  /// Takes a lock id and a length. Renews the lease if it is live.
  const RowUpdate renew;
  /// Takes a lock id, a version (or kAnyVersion), a mark or a length, and a body, or none; then the
  /// next grant. No client waits elsewhere. The release tells too whether another store wants
  /// hints.
  const RowUpdate release, checkpoint, hand_over;
};

/// Of a hint_lock: does another store want hints?
const Statement& AsksForListeners();

/// Twelve hexadecimal digits of a text; the same in every program.
std::string HashText(std::string_view text);

}  // namespace doclock::postgresql
