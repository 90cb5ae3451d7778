#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <string>

#include "doclock/mongodb_store.h"

namespace doclock::mongodb {

using UriPtr = std::unique_ptr<mongoc_uri_t, decltype(&mongoc_uri_destroy)>;

/// Reads a URI. libmongoc ignores options that it does not know or cannot read, with a line on
/// stderr; here they are refused before it sees them. It names a database.
/// @throws std::invalid_argument naming the option. No part of the URI is repeated but the names of
/// options: a password may stand in any other place.
UriPtr ParseUri(const std::string& text, const MongodbStoreOptions& options);

}  // namespace doclock::mongodb
