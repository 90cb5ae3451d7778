#include "mongodb/client/pool.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "doclock/errors.h"
#include "platform/signals_blocked.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// The timeout to connect, with all handshakes. The driver's monitors of the members use it too.
constexpr milliseconds kShortestConnect{500};
constexpr milliseconds kLongestConnect{2000};

void Set(mongoc_uri_t* uri, const char* option, milliseconds value) {
  mongoc_uri_set_option_as_int32(uri, option, static_cast<std::int32_t>(value.count()));
}

}  // namespace

bool HasNoRecord(std::string_view driver_says) noexcept {
  const auto says = [&](const char* text) { return driver_says.find(text) != driver_says.npos; };
  return says("No SRV records for") ||
         (says("SRV record") && (says("host is unknown") || says("does not have an IP address")));
}

Pool::Pool(const mongoc_uri_t* given, milliseconds socket_timeout, milliseconds selection_timeout,
           SetNames* listener)
    : socket_timeout_(socket_timeout) {
  const Owned<mongoc_uri_t> uri(mongoc_uri_copy(given), &mongoc_uri_destroy);
  const milliseconds connect(mongoc_uri_get_option_as_int32(
      given, MONGOC_URI_CONNECTTIMEOUTMS, static_cast<std::int32_t>(kLongestConnect.count())));
  Set(uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, socket_timeout);
  Set(uri.get(), MONGOC_URI_WAITQUEUETIMEOUTMS, socket_timeout);
  Set(uri.get(), MONGOC_URI_CONNECTTIMEOUTMS,
      std::min(connect, std::max(socket_timeout, kShortestConnect)));
  Set(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, selection_timeout);
  bson_error_t error;
  pool_ = mongoc_client_pool_new_with_error(uri.get(), &error);
  if (pool_ == nullptr && error.domain == MONGOC_ERROR_STREAM) {
    const bool none = HasNoRecord(error.message);
    throw StoreException(none ? Errc::kRefused : Errc::kUnavailable,
                         std::string("doclock: MongoDB: the hosts of the mongodb+srv: URI cannot "
                                     "be looked up") +
                             (none ? ": its name has no SRV record" : ""));
  }
  if (pool_ == nullptr) {
    throw std::invalid_argument("doclock: the mongodb: URI's options cannot be used");
  }
  mongoc_client_pool_set_error_api(pool_, MONGOC_ERROR_API_VERSION_2);
  // The driver takes one, and prints a line about a second.
  if (mongoc_uri_get_appname(given) == nullptr) mongoc_client_pool_set_appname(pool_, "doclock");
  if (listener != nullptr) listener->ListenTo(pool_);
  // The first use starts the driver's monitors, which take a signal for a failure of the network.
  const platform::SignalsBlocked blocked;
  mongoc_client_pool_push(pool_, mongoc_client_pool_pop(pool_));
}

Pool::~Pool() {
  if (owned_) mongoc_client_pool_destroy(pool_);
}

CollectionHandle HandleOf(mongoc_client_t* client, const std::string& database,
                          const std::string& collection, const char* level) {
  CollectionHandle handle(
      mongoc_client_get_collection(client, database.c_str(), collection.c_str()),
      &mongoc_collection_destroy);
  const Owned<mongoc_read_prefs_t> primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY),
                                           &mongoc_read_prefs_destroy);
  mongoc_collection_set_read_prefs(handle.get(), primary.get());
  const Owned<mongoc_read_concern_t> concern(mongoc_read_concern_new(),
                                             &mongoc_read_concern_destroy);
  mongoc_read_concern_set_level(concern.get(), level);
  mongoc_collection_set_read_concern(handle.get(), concern.get());
  return handle;
}

}  // namespace doclock::mongodb
