#pragma once

/// @file
/// The store in a database of MongoDB, also over the libmongoc pool of the program, and work of the
/// program's own in its transactions.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "doclock/export.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

/// libmongoc's `mongoc_client_pool_t`.
struct _mongoc_client_pool_t;
/// libmongoc's `mongoc_client_t`.
struct _mongoc_client_t;
/// libmongoc's `mongoc_client_session_t`.
struct _mongoc_client_session_t;
/// libbson's `bson_t`.
struct _bson_t;

namespace doclock {

class Transaction;

/// How a MongoDB store works. Checked by OpenMongodbStore: std::invalid_argument names the field.
struct MongodbStoreOptions {
  /// How long a call waits for the server to answer on its connection (`socketTimeoutMS`, unless
  /// the URI gives a shorter one). libmongoc has no other bound for a call when a server is frozen.
  /// 10 ms to one minute.
  Duration socket_timeout = std::chrono::seconds(10);
  /// How long a call waits for a primary (`serverSelectionTimeoutMS`, unless the URI gives one).
  /// 10 ms to one minute.
  Duration server_selection_timeout = std::chrono::seconds(5);
  /// Accepts a URI that turns off checks of the server's certificate (`tlsInsecure`,
  /// `tlsAllowInvalidCertificates`, `tlsAllowInvalidHostnames`). For tests only: a
  /// man in the middle can then read and write everything, the password included.
  bool allow_insecure_tls = false;
  /// Collections whose documents are another library's, by name, and the layout of each:
  /// `distributedlock`, of DistributedLock.MongoDB (.NET); `mongolock`, of square/mongo-lock (Go);
  /// `pessimisticlock`, of the MongoDB pessimistic locks (Java); `mongolocks` or
  /// `mongolocks-SECONDS`, of MongoLocks (.NET). This store then takes turns with holders of that
  /// library, in its documents, and refuses what such a document cannot hold. The URI's option
  /// `doclockLayout=COLLECTION:LAYOUT` adds one, and may be repeated. Needs a replica set.
  std::map<std::string, std::string> layouts = {};
};

/// Opens a database of a MongoDB server or replica set (5.0 or newer) as a store for any number of
/// processes on any number of machines. Writes wait for a majority of the members.
///
/// @param uri as MongoDB's drivers take it, with the name of the database in it:
///   `mongodb://a,b,c/shop?replicaSet=rs`, `mongodb+srv://...`.
/// @throws std::invalid_argument if the URI is not one, names no database, or has an option that is
/// unknown, has a bad value or is refused (the text names it, and no other part of the URI); if
/// `options` have a bad value.
/// @throws StoreException kUnavailable if no primary is found in time (the text names the servers
/// and the cause); kRefused if the server is too old, belongs to another replica set or refuses the
/// client, or a file of the TLS options cannot be used.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMongodbStore(const std::string& uri,
                                                       MongodbStoreOptions options = {});

/// Opens a database as OpenMongodbStore does, with the connections of `pool`, which must outlive
/// the store and all LockManagers over it. Calls, renewals and change streams share the
/// connections; allow at least eight (the URI's `maxPoolSize`). Each collection with waiters has a
/// change stream; the streams take half of the connections at most, and waiters without a stream
/// poll. The pool's own options bound the duration of a call (`socketTimeoutMS`,
/// `serverSelectionTimeoutMS`, `waitQueueTimeoutMS`).
///
/// @param pool a `mongoc_client_pool_t*` from which a client can be popped.
/// @param database its name.
/// @throws std::invalid_argument if the pool's URI has no `socketTimeoutMS`, or one above a
/// minute: on a frozen server a call would wait that long, far beyond the leases of the client's
/// locks. Also for a null pool and an empty name. @throws StoreException as OpenMongodbStore.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMongodbStore(_mongoc_client_pool_t* pool,
                                                       const std::string& database,
                                                       MongodbStoreOptions options = {});

/// The largest difference between the clocks of any two servers that this store on MongoDB has
/// reached. The store measures it when it is opened and every half minute. It is a part of
/// StoreTraits::clock_margin, by which holders give up early, because a new primary counts leases
/// by its own clock. Thread-safe.
/// @throws std::invalid_argument for another kind of store.
DOCLOCK_EXPORT std::chrono::nanoseconds MongodbClockSkew(const Store& store);

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
