#pragma once

#include "conformance/suite/store_conformance.h"

namespace doclock::conformance {

/// SQLite in a temporary folder.
Backend MakeSqlite();

}  // namespace doclock::conformance
