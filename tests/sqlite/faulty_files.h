#pragma once

#include <sqlite3.h>

#include <atomic>

namespace doclock::sqlite_test {

/// SQLite's file layer for this process, which fails on demand. Made the default while it lives.
class FaultyFiles {
 public:
  FaultyFiles();
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;
  ~FaultyFiles();

  /// The next so many times data of the log are flushed to the disk, that fails.
  static std::atomic<int> failing_syncs;
  /// The next so many writes to the log find the disk full.
  static std::atomic<int> failing_writes;
};

}  // namespace doclock::sqlite_test
