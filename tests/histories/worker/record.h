#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace doclock::histories {

/// A history as it happens: a file of JSON Lines that a killed process leaves whole. Thread-safe.
///
/// Every line has "t", the nanoseconds of the machine's monotonic clock, which all processes share
/// and no test falsifies; "w", the wall clock in ms as the process sees it; "p", the process; and
/// "e", the event: "call", "ok", "fail" (nothing was done), "doubt", "try" (a write that follows),
/// "held", or what the queue tells (WatchQueue).
///
/// A "call" has "id", "op", "key"; of a write "prev", "write" and the "grant" that it is made
/// under; of a transaction these for each of its "writes". "ok", "fail" and "doubt" have the
/// call's "id", and "grant", "fence", "read", "version", "versions", "reads" as far as there are
/// such. A call without any of them is in doubt. "try" has what the function of an Update is about
/// to write; "held" the "grant" that was held at "t".
///
/// With kill-waiters there are also "stands" (the store has confirmed that a waiter's entry stands
/// in the queue; the attempt was sent at "sent"), "passed on" (the lock was granted from the
/// queue) and, of the nemesis, "killed" ("process") and "queue" (the documented times, in ms).
/// With partitions the nemesis also writes "cut" ("what", "member", whether that was the primary),
/// "primary lost" and "cut ends".
class Record {
 public:
  Record(const std::string& file, int process);
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record();

  /// Writes a line with the present time; `line` has "e".
  void Write(nlohmann::json line) { WriteAt(Now(), std::move(line)); }
  /// Writes a line with a time that was read before.
  void WriteAt(std::int64_t time, nlohmann::json line);
  /// Writes a "call" with these fields, and returns its number, which what follows names as "id".
  std::int64_t Call(nlohmann::json fields);

  /// The machine's monotonic clock, whatever clock the process was given.
  static std::int64_t Now();

 private:
  const int process_;
  int file_ = -1;
  std::atomic<std::int64_t> calls_ = 0;
};

}  // namespace doclock::histories
