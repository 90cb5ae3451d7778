#pragma once

#include <memory>
#include <string>

#include "doclock/export.h"
#include "doclock/store.h"

namespace doclock {

/// Opens a PostgreSQL database (14 or newer) as a store for any number of threads, processes and
/// machines. `url` is libpq's: `postgresql://user@host/database?sslmode=verify-full`. What it
/// leaves out comes from libpq's environment (`PGPASSWORD`, `.pgpass`). To another machine, TLS
/// with a verified certificate is the default. The database may hold the user's own tables: the
/// names of all tables of this library begin with `doclock_`, and they are in the first schema of
/// the search path. Thread-safe. A child that was forked may not use the store.
///
/// @throws std::invalid_argument for a bad URL, without repeating it. @throws StoreException if the
/// server cannot be reached, is too old, is a standby, or holds tables of another version
DOCLOCK_EXPORT std::shared_ptr<Store> OpenPostgresqlStore(const std::string& url);

}  // namespace doclock
