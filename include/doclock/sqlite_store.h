#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "doclock/clock.h"
#include "doclock/duration.h"
#include "doclock/export.h"
#include "doclock/store.h"

namespace doclock {

/// When a commit waits for the disk. All are safe against crashes of processes.
enum class SqliteSync : std::uint8_t {
  /// The default. Whatever outlives its process survives power loss: documents, transactions,
  /// detached locks and LockOptions::min_hold. Other locks end with their processes, and do not
  /// wait for the disk.
  kFull,
  kNormal,  ///< The last commits may be undone by power loss.
  /// For tests and benchmarks. All stores that have a file open use it, or none: another one is
  /// refused (kRefused).
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

}  // namespace doclock
