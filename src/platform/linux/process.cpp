#include "platform/process.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace doclock::platform {

std::string ProgramName() {
  return ::program_invocation_short_name ? ::program_invocation_short_name : "doclock";
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t ProcessId() { return ::getpid(); }

}  // namespace doclock::platform
