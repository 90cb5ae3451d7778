#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "doclock/lock_admin.h"

namespace doclock::cli {

/// "shared" or "exclusive".
const char* ModeOf(const LockStatus& lock);

/// A lock as --json shows it. All times are in milliseconds; `grantedMs` is since 1970.
nlohmann::json JsonOf(const LockStatus& lock);
nlohmann::json JsonOf(const std::vector<LockStatus>& locks);

}  // namespace doclock::cli
