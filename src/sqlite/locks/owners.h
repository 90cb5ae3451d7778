#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "doclock/store.h"
#include "sqlite/db/connection.h"

namespace doclock::sqlite {

/// The table of who takes locks: rows of documents hold a number of the same width each time. For
/// people; no decision rests on it.
class Owners {
 public:
  /// The owner's number; 0 for none. Inside a transaction of the only writer.
  std::int64_t NumberOf(Connection& writer, const OwnerPtr& owner, std::int64_t unix_time);
  /// The transaction ended.
  void Committed() noexcept { fresh_.reset(); }
  /// Nothing it wrote is there.
  void RolledBack() noexcept;

  /// Who has this number; null if that is not known. Thread-safe.
  OwnerPtr Find(Connection& connection, std::int64_t number);

 private:
  using Name = std::tuple<std::string, std::string, std::int64_t>;
  struct Entry {
    std::int64_t number = 0;
    std::int64_t seen = 0;
  };

  static Entry Store(Connection& writer, const LockHolder& owner, std::int64_t unix_time);

  // Of the writer's thread.
  std::map<Name, Entry> numbers_;
  OwnerPtr last_;  ///< The same one is usually asked for again.
  Entry last_entry_;
  std::optional<Name> fresh_;  ///< Something in numbers_ is not committed yet.

  std::mutex mutex_;
  std::unordered_map<std::int64_t, OwnerPtr> holders_;
};

}  // namespace doclock::sqlite
