#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <string>

#include "doclock/mongodb_store.h"
#include "mongodb/uri/set_names.h"

namespace doclock::mongodb {

using UriPtr = Owned<mongoc_uri_t>;

/// Reads a URI, which must name a database. libmongoc ignores options that it does not know or
/// cannot read, with a line on stderr; this refuses them first.
/// @throws std::invalid_argument naming the option. The text repeats no other part of the URI: a
/// password may stand anywhere else.
UriPtr ParseUri(const std::string& text, const MongodbStoreOptions& options);

}  // namespace doclock::mongodb
