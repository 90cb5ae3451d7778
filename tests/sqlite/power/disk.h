#pragma once

#include <filesystem>
#include <random>

namespace doclock::sqlite_test {

/// SQLite's file layer for this process, made the default while it lives. It knows what of each
/// database and log is on the disk, counts flushes, and plays power cuts. One at a time.
class Disk {
 public:
  Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk();

  /// Returns how often a database or a log was flushed.
  [[nodiscard]] static int flushes();
  /// The power fails after this many further writes, flushes and deletions. From then on all fail.
  static void CutAfter(int steps);
  static void Cut() { CutAfter(0); }
  [[nodiscard]] static bool IsOff();
  /// This many of the next flushes fail, and what they should have flushed never comes to the disk.
  static void FailFlushes(int count);
  /// Of what was not flushed, some sectors are on the disk, a prefix, all or nothing, at random;
  /// null: nothing. All stores are closed. Returns with the power on.
  static void Restart(std::mt19937_64* random = nullptr);
};

}  // namespace doclock::sqlite_test
