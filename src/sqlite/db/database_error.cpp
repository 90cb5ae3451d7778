#include "sqlite/db/database_error.h"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

namespace doclock::sqlite {

std::string ReasonOf(int error) {
  std::string reason = ": " + std::generic_category().message(error);
  if (error == EMFILE) reason += " (the process has reached its limit, RLIMIT_NOFILE)";
  return reason;
}

namespace {

/// Whether the system forbids the call, until its rights or the file system are changed.
bool IsForbidden(int error) noexcept {
  return error == EACCES || error == EPERM || error == EROFS || error == ENAMETOOLONG;
}

Errc ErrcOf(int code, int error) noexcept {
  switch (code) {
    case SQLITE_CANTOPEN_ISDIR:
    case SQLITE_CANTOPEN_SYMLINK:
    case SQLITE_IOERR_CORRUPTFS:
    case SQLITE_IOERR_DATA:
    case SQLITE_IOERR_GETTEMPPATH:  // no folder for temporary files can be written
      return Errc::kRefused;
    default:
      break;
  }
  switch (code & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return IsForbidden(error) ? Errc::kRefused : Errc::kUnavailable;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_ABORT:
    case SQLITE_INTERRUPT:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
    case SQLITE_PROTOCOL:
    case SQLITE_SCHEMA:
      return Errc::kUnavailable;
    default:
      return Errc::kRefused;
  }
}

}  // namespace

DatabaseError::DatabaseError(int code, const std::string& text, int error)
    : StoreException(ErrcOf(code, error), text), code_(code) {}

bool DatabaseError::is_without_effect() const noexcept {
  return primary_code() == SQLITE_FULL || primary_code() == SQLITE_BUSY;
}

bool DatabaseError::is_failed_flush() const noexcept { return code_ == SQLITE_IOERR_FSYNC; }

bool DatabaseError::is_about_values() const noexcept {
  return primary_code() == SQLITE_CONSTRAINT || primary_code() == SQLITE_TOOBIG;
}

std::string DatabaseError::unique_index() const {
  if (code_ != SQLITE_CONSTRAINT_UNIQUE) return {};
  // "UNIQUE constraint failed: index 'name'" for indexes on expressions, as this library's are; the
  // text doubles the name's quotes. Indexes of users on plain columns show their columns.
  const std::string text = what();
  const std::string before_name = "index '";
  const std::size_t start = text.find(before_name);
  if (start == std::string::npos) return text.substr(text.find(": ") + 2);
  const std::size_t end = text.rfind('\'');
  std::string name = text.substr(start + before_name.size(), end - start - before_name.size());
  for (auto quote = name.find("''"); quote != name.npos; quote = name.find("''", quote + 1)) {
    name.erase(quote, 1);
  }
  return name;
}

DatabaseError LastError(sqlite3* database) {
  const int code = sqlite3_extended_errcode(database), primary = code & 0xff;
  std::string text = sqlite3_errmsg(database);
  // SQLite names the call that failed, but not why.
  const int error = sqlite3_system_errno(database);
  if (error != 0 && (primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR))
    text += ReasonOf(error);
  return {code, text, error};
}

DatabaseError SystemError(const std::string& text, int error) {
  return {SQLITE_CANTOPEN, text + ReasonOf(error), error};
}

DatabaseError BusyError(const std::string& text) { return {SQLITE_BUSY, text}; }

DatabaseError RefusedError(const std::string& text) { return {SQLITE_READONLY_DBMOVED, text}; }

}  // namespace doclock::sqlite
