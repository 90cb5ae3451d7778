#pragma once

#include <memory>
#include <string>

#include "doclock/export.h"
#include "doclock/mongodb_store.h"
#include "doclock/store.h"

/// @file
/// For programs that use libmongoc themselves: a store over their own pool of connections, with
/// its credentials, its TLS settings and its monitoring callbacks.

/// libmongoc's `mongoc_client_pool_t`.
struct _mongoc_client_pool_t;

namespace doclock {

/// Opens a database as OpenMongodbStore does, with the connections of `pool`, which must outlive
/// the store and all LockManagers over it. Calls, renewals and change streams share them: at least
/// eight should be allowed (the URI's `maxPoolSize`). Change streams, one for each collection that
/// is waited on, take half of them at most; waiters without one poll. How long a call may last is
/// the pool's own affair
/// (`socketTimeoutMS`, `serverSelectionTimeoutMS`, `waitQueueTimeoutMS`).
///
/// @param pool a `mongoc_client_pool_t*` from which a client can be popped.
/// @param database its name.
/// @throws std::invalid_argument if the pool's URI has no `socketTimeoutMS`, or one above a
/// minute: on a server that is frozen a call would wait for so long, far beyond the leases of what
/// it holds. Also for a null pool and an empty name. @throws StoreException as OpenMongodbStore.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMongodbStore(_mongoc_client_pool_t* pool,
                                                       const std::string& database,
                                                       MongodbStoreOptions options = {});

}  // namespace doclock
