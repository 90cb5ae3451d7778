#pragma once

#include <cstdint>
#include <string>

namespace doclock::platform {

/// The program's short name; "doclock" where it cannot be found out.
std::string ProgramName();
/// This machine's name; empty where it cannot be found out.
std::string HostName();
/// This process's id.
std::int64_t ProcessId();

}  // namespace doclock::platform
