#pragma once

#include <functional>

#include "doclock/export.h"
#include "doclock/transaction.h"

/// @file
/// The user's own commands in a transaction over a store on a MongoDB replica set.

/// libmongoc's `mongoc_client_t`.
struct _mongoc_client_t;
/// libmongoc's `mongoc_client_session_t`.
struct _mongoc_client_session_t;
/// libbson's `bson_t`.
struct _bson_t;

namespace doclock {

/// What joined work is given; valid until it returns.
struct MongodbJoin {
  _mongoc_client_t* client;           ///< The connection, a `mongoc_client_t*`.
  _mongoc_client_session_t* session;  ///< In a transaction, which doclock commits or aborts.
  const _bson_t* opts;  ///< Holds the session: the options to pass to each call of libmongoc.
};

/// Makes the user's own commands part of a transaction over a MongoDB store: `f` runs inside the
/// server's transaction, before the documents are written. If it throws, nothing is stored, all
/// locks are still held, and the exception comes out of Commit.
///
/// A call that is not given `opts` is outside: it takes effect at once, and stays. `f` runs when no
/// lock or version was refused (an index, or another client, may refuse later), and may run several
/// times. It may neither commit nor abort the transaction (then Commit throws std::logic_error and
/// doclock stores nothing; what `f` committed itself is stored), nor begin another one after that
/// (which is not noticed: doclock's writes are stored by that one then), nor write
/// doclock's documents, nor call doclock. After an error of one of its commands the server has
/// ended the transaction: throw then. The documents are open to others until it returns, so a
/// renewal of one of the leases is another client's write too: `f` then runs again. It should take
/// far less than a third of the shortest lease; the server ends a transaction after a minute.
/// @throws std::invalid_argument over another store; std::logic_error for a second `f`, and after a
/// successful Commit
DOCLOCK_EXPORT void Join(Transaction& transaction, std::function<void(const MongodbJoin&)> f);

}  // namespace doclock
