#pragma once

#include <cstddef>
#include <span>

namespace doclock::platform {

/// Fills with random bytes from the operating system. @throws std::system_error
void RandomBytes(std::span<std::byte> out);

}  // namespace doclock::platform
