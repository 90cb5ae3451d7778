#pragma once

#include <filesystem>

namespace doclock::sqlite {

/// Says that this process uses SQLite, while it lives: from before a file is opened until its last
/// connection is closed.
///
/// SQLite keeps a list of the files and locks of its process, and mutexes. A child that is forked
/// meanwhile gets a copy of all that, which speaks of locks that it does not have: it would wait
/// for its own ghost, or write without a lock. There is no way to clear it. So such a child opens
/// no store.
class SqliteInUse {
 public:
  /// @throws StoreException (kRefused, naming the file) in such a child.
  explicit SqliteInUse(const std::filesystem::path& file);
  SqliteInUse(const SqliteInUse&) = delete;
  SqliteInUse& operator=(const SqliteInUse&) = delete;
  ~SqliteInUse();
};

}  // namespace doclock::sqlite
