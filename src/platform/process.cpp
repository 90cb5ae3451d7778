#include "platform/process.h"

#include <unistd.h>

#include <array>

namespace doclock::platform {

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t ProcessId() { return ::getpid(); }

}  // namespace doclock::platform
