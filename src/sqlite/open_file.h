#pragma once

#include <filesystem>
#include <memory>

#include "doclock/errors.h"
#include "doclock/stores/sqlite.h"
#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"
#include "sqlite/db/file_set.h"
#include "sqlite/processes/fork_check.h"
#include "sqlite/processes/open_lock.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/tables/era.h"

namespace doclock::sqlite {

/// A database file that is ready for use.
struct OpenFile {
  std::unique_ptr<SqliteInUse> in_use;  ///< Destroyed last.
  std::filesystem::path path;           ///< Without symbolic links: one file, one coordinator.
  std::shared_ptr<ProcessCoordinator> coordinator;
  std::unique_ptr<OpenLock> open_lock;
  std::unique_ptr<Connection> connection;
  std::unique_ptr<const FileSet> files;
  Era era;
};

/// Opens the file, or creates it, with the tables that every collection needs.
/// @throws StoreException naming the path and the problem.
OpenFile OpenDatabase(const std::filesystem::path& file, const SqliteStoreOptions& options);

/// The exception for callers.
StoreException AsStoreException(const DatabaseError& error, const std::filesystem::path& file);

}  // namespace doclock::sqlite
