#pragma once

#include <cstdint>
#include <string>

#include "doclock/export.h"

namespace doclock::platform {

/// The program's short name; "doclock" if it is unknown.
DOCLOCK_EXPORT std::string ProgramName();
/// This machine's name; empty if it is unknown.
DOCLOCK_EXPORT std::string HostName();
/// This process's id.
DOCLOCK_EXPORT std::int64_t ProcessId();
/// Identifies this boot of the machine; empty if it is unknown.
DOCLOCK_EXPORT std::string BootId();

}  // namespace doclock::platform
