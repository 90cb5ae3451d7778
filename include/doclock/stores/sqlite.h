#pragma once

/// @file
/// The store in a file of SQLite, and work of the program's own in its transactions.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "doclock/export.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

struct sqlite3;

namespace doclock {

class Transaction;

/// When a commit waits for the disk. All are safe against crashes of processes.
enum class SqliteSync : std::uint8_t {
  /// The default. Whatever outlives its process survives power loss: documents, transactions,
  /// detached locks and LockOptions::min_hold. Other locks end with their processes (Linux), and do
  /// not wait for the disk there.
  kFull,
  kNormal,  ///< Power loss may undo the last commits; fences go on above them (Linux).
  /// For tests and benchmarks. All stores that have a file open use it, or none: on Linux another
  /// one is refused (kRefused).
  kOff,
};

/// How a SQLite store works. Checked by OpenSqliteStore: std::invalid_argument names the field.
struct SqliteStoreOptions {
  /// Durability.
  SqliteSync sync = SqliteSync::kFull;
  /// Create what is missing (the default): the file, and the tables of a collection when it is
  /// first opened. If false, OpenSqliteStore refuses (kRefused) a missing file and a file without
  /// this library's tables, and Store::Open throws NotFoundException for a missing collection.
  bool create = true;
  /// Complete what exists (the default): the coordinator file and the write-ahead log. If false, a
  /// file that lacks one of these is refused (kRefused).
  bool complete = true;
  /// Refuse network and shared-folder file systems (the default), because SQLite's locks
  /// are not reliable there; and files with several names or with a mount of their own.
  bool local_only = true;
  /// The longest time that a call waits for a foreign writer that holds the file. 1 ms to one
  /// minute.
  Duration busy_timeout = std::chrono::seconds(5);
  /// The most pages that the database may have (PRAGMA max_page_count), up to 4294967294; 0:
  /// SQLite's own limit.
  std::int64_t max_pages = 0;
  /// For tests: where it reads the time from; null means the real clock.
  std::shared_ptr<const Clock> clock = nullptr;
};

/// Opens a SQLite file as a store for any number of threads and of processes on one machine. The
/// file may hold the user's own tables: the names of all tables of this library begin with
/// `doclock_`. On Linux the coordinator file `<file>-doclock` stands beside it, next to SQLite's
/// own files.
///
/// @throws std::invalid_argument for SQLite's names of databases that are no file (`:memory:`,
/// `file:...`). @throws StoreException naming the path and what is wrong with it (a directory, not
/// a database, no permission, a newer schema, a network file system, a child forked while a store
/// was open).
DOCLOCK_EXPORT std::shared_ptr<Store> OpenSqliteStore(const std::filesystem::path& file,
                                                      SqliteStoreOptions options = {});

/// Makes the user's own statements part of a transaction over a SQLite store: `f` gets the writing
/// connection, inside the SQL transaction that stores the documents. If it throws, nothing is
/// stored, all locks are still held, and the exception comes out of Commit.
///
/// `f` may use any tables but doclock's own (`doclock_*`), and savepoints. It runs when no lock or
/// version was refused (an index may refuse later), and may run several times. It may not end the
/// transaction: COMMIT, ROLLBACK, BEGIN, PRAGMA, ATTACH and DETACH are refused (SQLITE_AUTH). It
/// finalises its statements before it returns (one that is still running is ended, and Commit
/// throws std::logic_error), and calls neither doclock nor, afterwards, the connection. Every other
/// writer of the file waits for it, so it should be quick; a statement that outlasts
/// ManagerOptions::call_budget is interrupted.
/// @throws std::invalid_argument over another store; std::logic_error for a second `f`, and after a
/// successful Commit
DOCLOCK_EXPORT void Join(Transaction& transaction, std::function<void(sqlite3*)> f);

}  // namespace doclock
