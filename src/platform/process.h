#pragma once

#include <cstdint>
#include <string>

#include "doclock/export.h"

namespace doclock::platform {

/// The program's short name; "doclock" where it cannot be found out.
DOCLOCK_EXPORT std::string ProgramName();
/// This machine's name; empty where it cannot be found out.
DOCLOCK_EXPORT std::string HostName();
/// This process's id.
DOCLOCK_EXPORT std::int64_t ProcessId();
/// Tells one boot of this machine from another; empty where it cannot be found out.
DOCLOCK_EXPORT std::string BootId();

}  // namespace doclock::platform
