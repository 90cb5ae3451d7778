#pragma once

#include "conformance/store_conformance.h"

namespace doclock::conformance {

/// Is there a server to test against? The environment names it: DOCLOCK_TEST_MONGODB, a URI
/// without a database.
bool HasMongodb();

/// A database of its own on that server, dropped at the end.
Backend MakeMongodb();

}  // namespace doclock::conformance
