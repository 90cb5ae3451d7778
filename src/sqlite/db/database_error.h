#pragma once

#include <string>

#include "doclock/errors.h"

struct sqlite3;

namespace doclock::sqlite {

/// An error of SQLite. Stays inside the store: operations get results, callers a StoreException.
class DatabaseError : public StoreException {
 public:
  /// @param code SQLite's extended result code.
  /// @param error The errno of the system's call that failed; 0: unknown, or none failed.
  DatabaseError(int code, const std::string& text, int error = 0);

  /// SQLite's result code without its details: SQLITE_BUSY, SQLITE_FULL ...
  [[nodiscard]] int primary_code() const noexcept { return code_ & 0xff; }
  /// Of a COMMIT: did it certainly leave nothing behind? SQLite drops a transaction that found no
  /// room. Others may stand in the log, and take effect if the log is read again.
  [[nodiscard]] bool is_without_effect() const noexcept;
  /// Is it an error of this one statement's values, with the transaction still valid?
  [[nodiscard]] bool is_about_values() const noexcept;
  /// Whether a flush has failed: what was written may be lost, although later reads show it.
  [[nodiscard]] bool is_failed_flush() const noexcept;
  /// The unique index that refused, or nothing.
  [[nodiscard]] std::string unique_index() const;

 private:
  int code_;
};

/// The last error of this connection.
DatabaseError LastError(sqlite3* database);
/// ": " and what this errno means.
std::string ReasonOf(int error);
/// A call of the operating system failed with this errno: kRefused if the system
/// forbids it, else kUnavailable.
DatabaseError SystemError(const std::string& text, int error);
/// The write turn or a file was busy for longer than allowed.
DatabaseError BusyError(const std::string& text);
/// A file was moved, replaced or changed: kRefused.
DatabaseError RefusedError(const std::string& text);

}  // namespace doclock::sqlite
