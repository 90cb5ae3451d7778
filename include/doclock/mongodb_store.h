#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "doclock/duration.h"
#include "doclock/export.h"
#include "doclock/store.h"

namespace doclock {

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

/// The largest difference between the clocks of any two servers that this store on MongoDB has
/// reached. The store measures it when it is opened and every half minute. It is a part of
/// StoreTraits::clock_margin, by which holders give up early, because a new primary counts leases
/// by its own clock. Thread-safe.
/// @throws std::invalid_argument for another kind of store.
DOCLOCK_EXPORT std::chrono::nanoseconds MongodbClockSkew(const Store& store);

}  // namespace doclock
