#pragma once

#include <filesystem>

namespace doclock::sqlite {

/// Marks this process as one that uses SQLite, while it lives: from before a file is opened until
/// its last connection is closed.
///
/// SQLite keeps a list of the files and locks of its process, and mutexes. A child that is forked
/// meanwhile gets a copy, which lists locks that the child does not have: it would wait for itself,
/// or write without a lock. SQLite has no way to clear the list, so such a child cannot open a
/// store.
class SqliteInUse {
 public:
  /// @throws StoreException (kRefused, naming the file) in such a child.
  explicit SqliteInUse(const std::filesystem::path& file);
  SqliteInUse(const SqliteInUse&) = delete;
  SqliteInUse& operator=(const SqliteInUse&) = delete;
  ~SqliteInUse();
};

}  // namespace doclock::sqlite
