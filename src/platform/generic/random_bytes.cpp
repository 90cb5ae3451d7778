#include "platform/random_bytes.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace doclock::platform {

void RandomBytes(std::span<std::byte> out) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> source(std::fopen("/dev/urandom", "rb"),
                                                               &std::fclose);
  if (!source || std::fread(out.data(), 1, out.size(), source.get()) != out.size()) {
    throw std::system_error(errno, std::system_category(), "no random bytes to be had");
  }
}

}  // namespace doclock::platform
