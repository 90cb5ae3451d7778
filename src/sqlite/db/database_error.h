#pragma once

#include <stdexcept>
#include <string>

#include "doclock/errors.h"

namespace doclock::sqlite {

/// What SQLite said. Stays inside the store: operations get results, callers a StoreException.
class DatabaseError : public std::runtime_error {
 public:
  /// @param code SQLite's extended result code.
  DatabaseError(int code, const std::string& text);

  /// SQLite's result code without its details: SQLITE_BUSY, SQLITE_FULL ...
  [[nodiscard]] int primary_code() const noexcept { return code_ & 0xff; }
  /// What callers can make of it.
  [[nodiscard]] Errc errc() const noexcept;
  /// Did a file, usually the log, end too early?
  [[nodiscard]] bool is_short_read() const noexcept;
  /// Is it about this one statement's values, with the transaction unharmed?
  [[nodiscard]] bool is_about_values() const noexcept;
  /// The unique index that refused, or nothing.
  [[nodiscard]] std::string unique_index() const;

 private:
  int code_;
};

/// The write turn or a file was busy for longer than allowed.
DatabaseError BusyError(const std::string& text);
/// A file that is not what it was: kRefused.
DatabaseError RefusedError(const std::string& text);

}  // namespace doclock::sqlite
