#pragma once

#include "conformance/suite/store_conformance.h"

namespace doclock::conformance {

/// StoreOver a map.
Backend MakeRecords();

}  // namespace doclock::conformance
