#include "platform/process.h"

#include <cerrno>
#include <fstream>

namespace doclock::platform {

std::string ProgramName() {
  return ::program_invocation_short_name ? ::program_invocation_short_name : "doclock";
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? id : std::string();
}

}  // namespace doclock::platform
