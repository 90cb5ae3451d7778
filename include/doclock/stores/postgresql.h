#pragma once

/// @file
/// The store in a database of PostgreSQL, SQL for its tables, and work of the program's own in its
/// transactions.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "doclock/document.h"
#include "doclock/export.h"
#include "doclock/store/store.h"

/// libpq's `PGconn`.
struct pg_conn;

namespace doclock {

class Transaction;

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

/// Returns the statements that create a collection's tables. Run by another user, they spare that
/// of the store the right to create: it needs SELECT, INSERT, UPDATE and DELETE on `doclock_c_...`,
/// and SELECT and INSERT on `doclock_meta`.
/// @throws std::invalid_argument for a bad name
DOCLOCK_EXPORT std::string PostgresqlTables(const std::string& collection);

/// Returns a SELECT for a transaction of the user's own, on any connection to the database. It
/// gives one row if the exclusive lock with this fence() is still held, and no other client is
/// granted it until the transaction ends, even if its lease is over. No row: roll back. The lock's
/// renewal and release wait meanwhile, so the transaction should be shorter than a third of the
/// ttl.
/// @throws std::invalid_argument for a bad name
DOCLOCK_EXPORT std::string PostgresqlFence(const std::string& collection, const Key& key,
                                           std::int64_t fence);

/// Makes the user's own statements part of a transaction over a PostgreSQL store: `f` gets the
/// connection, a `PGconn*`, inside the SQL transaction that stores the documents. If it throws,
/// nothing is stored, all locks are still held, and the exception comes out of Commit.
///
/// `f` may use any tables but doclock's own (`doclock_*`), which it may read, and savepoints. It
/// runs when no lock or version was refused (an index may refuse later), and may run several times.
/// It throws if one of its statements fails: the server has given the transaction up then. It may
/// not end the transaction, nor leave a failed one, a COPY, results or a pipeline behind: Commit
/// throws std::logic_error, and doclock stores nothing (what `f` committed itself is stored). It
/// does not write doclock's tables, which is not checked: locks would break. It calls neither
/// doclock nor, afterwards, the connection, whose session is discarded: settings, prepared
/// statements and temporary tables end with it.
///
/// The documents' rows are locked until the commit, and leases are not renewed meanwhile: `f`
/// should be quick. The server ends a statement of it that outlasts ManagerOptions::call_budget;
/// when all of it outlasts that, Commit throws StoreException (kUnavailable).
/// @throws std::invalid_argument over another store; std::logic_error for a second `f`, and after a
/// successful Commit
DOCLOCK_EXPORT void Join(Transaction& transaction, std::function<void(pg_conn*)> f);

}  // namespace doclock
