#pragma once

#include <nlohmann/json_fwd.hpp>

#include "doclock/document.h"
#include "doclock/export.h"

/// @file
/// What doclock/json/key.h declares, without the specialisation for all members that are keys: a
/// file of source must not have used the general one before that.

namespace doclock {

DOCLOCK_EXPORT nlohmann::json KeyToMember(const Key& key);
DOCLOCK_EXPORT Key KeyFromMember(const nlohmann::json& in);

}  // namespace doclock
