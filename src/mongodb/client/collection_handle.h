#pragma once

#include <mongoc/mongoc.h>

#include <string>

#include "mongodb/uri/set_names.h"

namespace doclock::mongodb {

using CollectionHandle = Owned<mongoc_collection_t>;

/// The driver's handle of a collection. It reads from the primary at `level`, a level of read
/// concerns (null: that of the session, or the server's): what the URI or the user's pool says of
/// reads is for other programs.
CollectionHandle HandleOf(mongoc_client_t* client, const std::string& database,
                          const std::string& collection, const char* level);

}  // namespace doclock::mongodb
