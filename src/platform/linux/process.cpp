#include "platform/process.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

namespace doclock::platform {

std::string ProgramName() {
  return ::program_invocation_short_name ? ::program_invocation_short_name : "doclock";
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t ProcessId() { return ::getpid(); }

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? id : std::string();
}

}  // namespace doclock::platform
