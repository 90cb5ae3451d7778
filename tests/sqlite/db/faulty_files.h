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

  /// This many of the next flushes of the log to the disk fail.
  static std::atomic<int> failing_syncs;
  /// This many of the next writes to the log fail for the reason `error`.
  static std::atomic<int> failing_writes;
  /// Why: an errno.
  static std::atomic<int> error;
  /// This many of the next reads of the log fail.
  static std::atomic<int> failing_reads;
};

}  // namespace doclock::sqlite_test
