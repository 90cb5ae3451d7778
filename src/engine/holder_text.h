#pragma once

#include <string>

#include "doclock/errors.h"

namespace doclock::detail {

/// "name (host:pid)", and whether it is this process: then the caller may wait for itself.
std::string HolderText(const LockHolder& holder);

}  // namespace doclock::detail
