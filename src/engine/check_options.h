#pragma once

#include <string_view>

#include "doclock/detail/engine.h"
#include "doclock/options.h"

namespace doclock::detail {

/// Each function throws std::invalid_argument naming the field.
void CheckManagerOptions(const Store* store, const ManagerOptions& options);
void CheckLockOptions(const LockOptions& options);
void CheckTtl(Duration ttl, const char* field);
/// The name of a client or a group.
void CheckText(std::string_view text, const char* field);

}  // namespace doclock::detail
