#include "platform/random_bytes.h"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace doclock::platform {

void RandomBytes(std::span<std::byte> out) {
  while (!out.empty()) {
    const auto got = ::getrandom(out.data(), out.size(), 0);
    if (got > 0) {
      out = out.subspan(static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::system_category(), "no random bytes to be had");
    }
  }
}

}  // namespace doclock::platform
