#include "sqlite/open_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <thread>

#include "platform/process.h"
#include "platform/standard_numbers.h"
#include "sqlite/tables/schema.h"

namespace doclock::sqlite {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Refuse(const fs::path& path, const std::string& what) {
  throw StoreException(Errc::kRefused, "doclock: " + path.string() + " " + what);
}

fs::path Canonical(const fs::path& file) {
  if (file.empty()) throw StoreException(Errc::kRefused, "doclock: the database has no path");
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(file, error), error);
  // A link to a file that is still to be made: SQLite makes it, and names its log after it.
  for (std::error_code no_link; !error;) {
    const fs::path target = fs::read_symlink(path, no_link);
    if (no_link) return path;
    path = fs::weakly_canonical(path.parent_path() / target, error);
  }
  Refuse(file, "cannot be looked at: " + error.message());
}

void CheckPermission(const fs::path& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
    Refuse(path, "cannot be opened: " + std::generic_category().message(errno));
  }
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) Refuse(path, "is read-only");
}

void CheckExisting(const fs::path& path, fs::file_status status, bool local_only) {
  if (fs::is_directory(status)) Refuse(path, "is a directory");
  if (!fs::is_regular_file(status)) Refuse(path, "is not a regular file");
  CheckPermission(path);
  std::error_code error;
  // SQLite names its log after the file: under two names, two logs would ruin it.
  if (fs::hard_link_count(path, error) > 1 && !error && local_only) {
    Refuse(path, "has more than one name (hard links), and could be opened under another one");
  }
  // Each mount of a file that is mounted by itself would have a log of its own.
  if (local_only && IsMountedAlone(path)) {
    Refuse(path, "is mounted by itself (a volume of one file); mount its directory instead");
  }
}

/// SQLite says of what it cannot make that it does not exist.
void CheckNew(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.parent_path();
  if (!fs::is_directory(folder, error)) Refuse(path, "cannot be made: there is no such directory");
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    Refuse(path, "cannot be made" + ReasonOf(errno));
  }
}

void CheckPath(const fs::path& path, const SqliteStoreOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    CheckExisting(path, status, options.local_only);
  } else if (status.type() != fs::file_type::not_found) {
    Refuse(path, "cannot be looked at: " + error.message());
  } else if (!options.create) {
    Refuse(path, "does not exist");
  } else {
    CheckNew(path);
  }
  if (options.local_only) CheckFileSystem(path.parent_path());
}

/// Nothing, if the file is missing.
std::uintmax_t SizeOf(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

/// SQLite deletes a log without a database, but the database may come back. (A new database exists
/// before its log does.)
void CheckLeftLogs(const fs::path& path) {
  for (const char* suffix : {"-wal", "-journal"}) {
    const fs::path log = path.string() + suffix;
    if (SizeOf(log) == 0) continue;
    std::error_code error;
    const bool missing = fs::status(path, error).type() == fs::file_type::not_found;
    // An empty database beside a journal: its creation was interrupted.
    if (!missing && (suffix != std::string_view("-wal") || SizeOf(path) > 0)) continue;
    Refuse(path, std::string(missing ? "is missing" : "is empty") + ", but its log " +
                     log.string() + " is there: put the database back, or move the log away");
  }
}

void CheckDatabase(Connection& connection, const fs::path& path, bool create) {
  connection.Ask("SELECT count(*) FROM sqlite_master");
  if (connection.IsReadOnly()) Refuse(path, "is read-only");
  if (const auto encoding = connection.AskText("PRAGMA encoding"); encoding != "UTF-8") {
    Refuse(path, "is encoded in " + encoding + ", not in UTF-8");
  }
  // Before anything is created beside the file or changed in it.
  if (!create && !HasSchema(connection, path.string())) {
    Refuse(path, "holds no tables of this library");
  }
}

/// Refuses a database that Prepare would change.
void CheckComplete(Connection& connection, const fs::path& path) {
  if (connection.AskText("PRAGMA journal_mode") == "wal") return;
  Refuse(path, "has no write-ahead log yet; any other use of doclock makes it");
}

std::string JournalMode(Connection& connection, const std::string& pragma, Deadline deadline) {
  for (;;) {
    try {
      return connection.AskText(pragma);
    } catch (const DatabaseError& error) {
      // SQLite does not wait by itself for connections that still use another mode.
      const bool busy = error.primary_code() == SQLITE_BUSY;
      if (!busy || std::chrono::steady_clock::now() >= deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

void UseWriteAheadLog(Connection& connection, const fs::path& path, Deadline deadline) {
  if (JournalMode(connection, "PRAGMA journal_mode", deadline) == "wal") return;
  const std::string mode = JournalMode(connection, "PRAGMA journal_mode=WAL", deadline);
  if (mode != "wal")
    Refuse(path, "does not take a write-ahead log (its journal mode is " + mode + ")");
}

void EnsureSchema(Connection& connection, const fs::path& path, bool begins_era, TimePoint now) {
  if (!begins_era && HasSchema(connection, path.string())) return;
  connection.Run("BEGIN IMMEDIATE");
  try {
    if (!HasSchema(connection, path.string())) CreateSchema(connection);
    if (begins_era) BeginEra(connection, platform::BootId(), now);
    connection.Run("COMMIT");
    if (connection.has_failed_flush()) throw DatabaseError(SQLITE_IOERR_FSYNC, "in a checkpoint");
  } catch (...) {
    if (connection.InTransaction()) connection.Run("ROLLBACK");
    throw;
  }
}

/// Begins a log without holes: all is in the database, and that is flushed. It waits for foreign
/// readers only if a flush has failed.
void BeginLog(Connection& connection, const ProcessCoordinator& coordinator, const fs::path& path) {
  if (!coordinator.HasFailedFlush()) connection.SetDeadline(Deadline::min(), Deadline::max());
  const bool busy = connection.Ask("PRAGMA wal_checkpoint(TRUNCATE)") != 0;
  if (busy && coordinator.HasFailedFlush()) {
    Refuse(path, "has a log that could not be flushed, and another program uses it: close that");
  }
}

void PrepareTables(OpenFile& open, bool begins_era, TimePoint now) {
  try {
    EnsureSchema(*open.connection, open.path, begins_era, now);
    if (begins_era) BeginLog(*open.connection, *open.coordinator, open.path);
  } catch (const DatabaseError& error) {
    if (error.is_failed_flush()) open.coordinator->NoteFailedFlush();
    throw;
  }
}

/// Refuses sync=off beside the others: it would reuse the log before the database is on the disk.
void CheckSync(const ProcessCoordinator& coordinator, const fs::path& path, SqliteSync sync) {
  const bool flushes = sync != SqliteSync::kOff;
  if (coordinator.Flushes().value_or(flushes) == flushes) return;
  Refuse(path, flushes ? "is open elsewhere with sync=off: open it with that, or close it there"
                       : "is open elsewhere with sync=full or normal: open it with one of them");
}

void Prepare(OpenFile& open, const SqliteStoreOptions& options, Deadline deadline) {
  if (!open.coordinator->Enter(deadline))
    throw BusyError(open.coordinator->Occupant() + " keeps it busy");
  try {
    UseWriteAheadLog(*open.connection, open.path, deadline);
    const bool begins_era =
        options.complete && open.coordinator->slot() != 0 && !open.coordinator->Flushes();
    if (options.complete || options.sync == SqliteSync::kOff)
      CheckSync(*open.coordinator, open.path, options.sync);
    const TimePoint now = (options.clock ? options.clock : SystemClock())->Now();
    const std::int64_t sync = open.connection->Ask("PRAGMA synchronous");
    // An era that a power cut undoes would give its versions twice.
    open.connection->Run("PRAGMA synchronous=FULL");
    PrepareTables(open, begins_era, now);
    open.connection->Run("PRAGMA synchronous=" + std::to_string(sync));
    if (begins_era) open.coordinator->BeganEra(options.sync != SqliteSync::kOff);
    open.era = LastEra(*open.connection);
    open.files = std::make_unique<const FileSet>(open.path, *open.connection);
    open.open_lock = std::make_unique<OpenLock>(open.path);
    open.connection->Accept();
  } catch (...) {
    open.coordinator->Leave();
    throw;
  }
  open.coordinator->Leave();
}

}  // namespace

StoreException AsStoreException(const DatabaseError& error, const fs::path& file) {
  return {error.errc(), "doclock: " + file.string() + ": " + error.what()};
}

OpenFile OpenDatabase(const fs::path& file, const SqliteStoreOptions& options) {
  const Deadline deadline = DeadlineIn(options.busy_timeout.ms());
  const platform::StandardNumbersTaken taken;
  OpenFile open;
  open.path = Canonical(file);
  open.in_use = std::make_unique<SqliteInUse>(open.path);
  CheckPath(open.path, options);
  try {
    CheckLibrary();
    open.coordinator = ProcessCoordinator::Join(open.path, deadline);
    CheckLeftLogs(open.path);
    if (!options.complete && !open.coordinator && ProcessCoordinator::HasFile()) {
      Refuse(open.path, "has no coordinator file -doclock yet; any other use of doclock makes it");
    }
    open.connection = Connect(open.path, options, options.create);
    CheckDatabase(*open.connection, open.path, options.create);
    if (!options.complete) CheckComplete(*open.connection, open.path);
    if (!open.coordinator) open.coordinator = ProcessCoordinator::Open(open.path, deadline);
    Prepare(open, options, deadline);
  } catch (const DatabaseError& error) {
    throw AsStoreException(error, open.path);
  }
  return open;
}

}  // namespace doclock::sqlite
