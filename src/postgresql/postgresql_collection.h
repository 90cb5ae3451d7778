#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "doclock/store/collection.h"
#include "document/watchers.h"
#include "postgresql/connection.h"

namespace doclock::postgresql {

/// A collection: one table, and the statements on it.
class PostgresqlCollection final : public Collection {
 public:
  PostgresqlCollection(std::string name, const LockFieldNames& fields,
                       std::chrono::milliseconds default_ttl, const std::string& schema);

  /// The table's name without its schema, which is that of its channel too. PostgreSQL cuts longer
  /// names than 63 bytes off, so those of long collections end with a hash.
  [[nodiscard]] const std::string& table_name() const noexcept { return table_name_; }
  /// The name in statements.
  [[nodiscard]] const std::string& table() const noexcept { return table_; }
  /// The constraint that refuses a key that is there.
  [[nodiscard]] std::string key_constraint() const { return table_name_ + "_key"; }
  /// What creates the table.
  [[nodiscard]] std::string Definition() const;
  /// The advisory lock that stores share while they want hints.
  [[nodiscard]] std::int64_t hint_lock() const noexcept { return hint_lock_; }
  [[nodiscard]] Watchers& watchers() noexcept { return *watchers_; }

  /// The row of a key: as it stands; locked, when other transactions have ended; locked, or none if
  /// another transaction keeps it.
  const Statement read, lock, lock_free;
  /// Is there a row?
  const Statement exists;
  /// Of a key, a lock and a body.
  const Statement insert, update;
  /// Of a key and a lock.
  const Statement update_lock;
  const Statement erase;
  /// Of a key and a grant: takes the lock if it is free, and nobody waits or is kept out.
  const Statement take_free;
  /// Of a key, a lock id and a length: renews the lease if it is live.
  const Statement renew;
  /// Of a key, a lock id, a version (or kAnyVersion), and a mark or a length; then of a body but
  /// for `unlock`. Nobody waits.
  const Statement unlock, release, checkpoint;

 private:
  PostgresqlCollection(std::string name, const LockFieldNames& fields,
                       std::chrono::milliseconds default_ttl, std::string table_name,
                       std::string table);

  const std::string table_name_, table_;
  const std::int64_t hint_lock_;
  const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

/// Twelve hexadecimal digits of a text; the same in every program.
std::string HashText(std::string_view text);

}  // namespace doclock::postgresql
