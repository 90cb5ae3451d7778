#pragma once

#include "doclock/detail/engine.h"
#include "doclock/options.h"

namespace doclock::detail {

/// Each function throws std::invalid_argument naming the field.
void CheckManagerOptions(const Store* store, const ManagerOptions& options);
void CheckLockOptions(const LockOptions& options);
void CheckTtl(Duration ttl, const char* field);

}  // namespace doclock::detail
