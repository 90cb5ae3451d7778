#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "doclock/store/store.h"
#include "sqlite/db/connection.h"

namespace doclock::sqlite {

/// The statements about one collection. "The lock" are the columns that LockReader::Read reads.
enum class Statements : std::uint8_t {
  kFind,      ///< ?1 key -> id, the lock, body
  kFindLock,  ///< ?1 key -> id, the lock
  kInsert,    ///< ?1 key, ?2 body
  kPutBody,   ///< ?1 id, ?2 body
  kPutLock,   ///< ?1 id, ?2.. the lock
  kErase,     ///< ?1 id
  kList,      ///< ?1 after id -> id, the lock, key, has it a body? Of rows with a lock id, by id.
  kListAll,   ///< as above, of all rows
  kListKey,   ///< as above, ?2 key
};
inline constexpr std::size_t kStatementCount = static_cast<std::size_t>(Statements::kListKey) + 1;

/// A collection of this store.
class SqliteCollection final : public Collection {
 public:
  /// @param number of the collection within its store, from 0
  SqliteCollection(const std::string& collection, const LockFieldNames& fields,
                   std::chrono::milliseconds default_ttl, std::size_t number);

  /// The bare name of the table of documents.
  [[nodiscard]] const std::string& documents() const noexcept { return documents_; }
  /// "documents d LEFT JOIN locks l ..."
  [[nodiscard]] const std::string& tables() const noexcept { return tables_; }
  [[nodiscard]] const Sql& sql(Statements which) const noexcept {
    return sql_[static_cast<std::size_t>(which)];
  }
  /// See Notification.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }

 private:
  std::string documents_, tables_;
  std::array<Sql, kStatementCount> sql_;
  std::uint64_t tag_;
};

}  // namespace doclock::sqlite
