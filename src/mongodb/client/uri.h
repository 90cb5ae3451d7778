#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <string>
#include <string_view>

#include "doclock/stores/mongodb.h"
#include "mongodb/client/set_names.h"

namespace doclock::mongodb {

using UriPtr = Owned<mongoc_uri_t>;

/// Reads a URI, which must name a database. libmongoc ignores options that it does not know or
/// cannot read, with a line on stderr; this refuses them first.
/// @throws std::invalid_argument naming the option. The text repeats no other part of the URI: a
/// password may stand anywhere else.
UriPtr ParseUri(const std::string& text, const MongodbStoreOptions& options);

/// What is wrong with the servers of a URI, or with its database, as the end of a sentence that
/// begins with "the URI"; empty: nothing. Of what libmongoc would print a line on, without saying
/// which part it is. No part is repeated: a password may stand in any place.
std::string WhatIsWrongWithServers(std::string_view uri);
std::string WhatIsWrongWithDatabase(std::string_view uri);

}  // namespace doclock::mongodb
