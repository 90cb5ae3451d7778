#pragma once

#include <functional>

#include "doclock/export.h"
#include "doclock/transaction.h"

/// libpq's `PGconn`.
struct pg_conn;

namespace doclock {

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
