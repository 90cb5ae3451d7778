#include "cli/process/terminal.h"

#include <fcntl.h>
#include <unistd.h>

namespace doclock::cli {

Terminal::Terminal() : descriptor_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {}

Terminal::~Terminal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Terminal::IsOf(pid_t group) const noexcept {
  return descriptor_ >= 0 && ::tcgetpgrp(descriptor_) == group;
}

void Terminal::Give(pid_t group) const noexcept { ::tcsetpgrp(descriptor_, group); }

}  // namespace doclock::cli
