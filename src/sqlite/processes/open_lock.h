#pragma once

#include <array>
#include <filesystem>

namespace doclock::sqlite {

/// Shows every user of SQLite, in this process and in others, that a store has the files open: it
/// holds the same bytes of the database and of the log's index as SQLite itself holds meanwhile.
/// SQLite's locks are the process's, and gone as soon as the program closes any descriptor of the
/// file, after reading it, for example. Then the next connection that closes, in any process, would
/// take itself for the last one and delete the log. These locks belong to the open file, and stay.
/// (Linux; elsewhere it does nothing.)
class OpenLock {
 public:
  /// Call it when SQLite has the files open. @throws DatabaseError
  explicit OpenLock(const std::filesystem::path& database);
  OpenLock(const OpenLock&) = delete;
  OpenLock& operator=(const OpenLock&) = delete;
  /// Call it when the store's connections are closed.
  ~OpenLock();

  /// Call this before the connections are closed: one of them may be the last.
  void Release() noexcept;

 private:
  enum : std::size_t { kDatabase, kIndex };

  [[maybe_unused]] std::array<int, 2> files_{-1, -1};
};

}  // namespace doclock::sqlite
