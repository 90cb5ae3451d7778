#pragma once

#include "conformance/suite/store_conformance.h"

namespace doclock::conformance {

/// A schema of its own on the tests' server, dropped at the end.
Backend MakePostgresql();

}  // namespace doclock::conformance
