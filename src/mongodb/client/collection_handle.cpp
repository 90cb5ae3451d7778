#include "mongodb/client/collection_handle.h"

namespace doclock::mongodb {

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
