#pragma once

#include "conformance/suite/store_conformance.h"

namespace doclock::conformance {

/// StoreOver a map.
Backend MakeRecords();
/// The same, where transactions exclude each other by keys and tell hints.
Backend MakeRecordsByKey();

}  // namespace doclock::conformance
