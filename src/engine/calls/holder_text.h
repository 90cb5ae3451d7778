#pragma once

#include <string>
#include <string_view>

#include "doclock/errors.h"

namespace doclock::detail {

/// The system's names may be anything; stores take UTF-8.
std::string AsText(std::string_view name);
/// The holder text of this host.
std::string HostText();

/// "name (host:pid)", and whether it is this process: then the caller may wait for itself.
std::string HolderText(const LockHolder& holder);

}  // namespace doclock::detail
