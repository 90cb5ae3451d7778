#pragma once

#include <sqlite3.h>

#include <atomic>

namespace doclock::sqlite_test {

/// SQLite's file layer for this process, which fails on demand. Made the default while it lives.
class FaultyFiles {
 public:
  FaultyFiles();
  /// The next commit fails half-way, and may be found in the log after a crash.
  static void FailCommit() {
    write_error = SQLITE_IOERR_WRITE;
    failing_writes = 1;
  }
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;
  ~FaultyFiles();

  /// This many of the next flushes of the log to the disk fail.
  static std::atomic<int> failing_syncs;
  /// This many of the next writes to the log fail with `write_error`.
  static std::atomic<int> failing_writes;
  /// SQLITE_FULL of a full disk; SQLITE_IOERR_WRITE of a quota, or of a limit of a file's size.
  static std::atomic<int> write_error;
  /// This many of the next reads of the log fail.
  static std::atomic<int> failing_reads;
};

}  // namespace doclock::sqlite_test
