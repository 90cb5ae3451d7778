#pragma once

#include <functional>

#include "doclock/export.h"
#include "doclock/transaction.h"

struct sqlite3;

namespace doclock {

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
