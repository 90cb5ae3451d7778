#pragma once

#include <memory>
#include <string>

#include "doclock/export.h"
#include "doclock/mongodb_store.h"
#include "doclock/store.h"

/// @file
/// A store over the libmongoc pool of a program that uses libmongoc itself, with the pool's
/// credentials, TLS settings and monitoring callbacks.

/// libmongoc's `mongoc_client_pool_t`.
struct _mongoc_client_pool_t;

namespace doclock {

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

}  // namespace doclock
