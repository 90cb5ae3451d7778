#pragma once

#include <cstdint>
#include <string>

#include "doclock/store.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/schema/table_names.h"

namespace doclock::sqlite {

/// A collection of this store.
class SqliteCollection final : public Collection {
 public:
  SqliteCollection(const std::string& collection, const LockFieldNames& fields,
                   std::chrono::milliseconds default_ttl, std::size_t number)
      : Collection(collection, fields, default_ttl),
        tables_(collection, number),
        tag_(TagOf(collection)) {}

  [[nodiscard]] const TableNames& tables() const noexcept { return tables_; }
  /// See Notification.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }

 private:
  TableNames tables_;
  std::uint64_t tag_;
};

/// The collection of an operation, which this store opened.
inline SqliteCollection& CollectionOf(const StoreOp& op) noexcept {
  return static_cast<SqliteCollection&>(*op.collection);
}

}  // namespace doclock::sqlite
