#pragma once

#include "conformance/suite/store_conformance.h"

namespace doclock::conformance {

/// A database of its own on the tests' replica set, dropped at the end.
Backend MakeMongodb();
/// The same on a server alone.
Backend MakeMongodbStandalone();

}  // namespace doclock::conformance
