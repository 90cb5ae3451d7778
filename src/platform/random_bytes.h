#pragma once

#include <cstddef>
#include <span>

#include "doclock/export.h"

namespace doclock::platform {

/// Fills with random bytes from the operating system. @throws std::system_error
DOCLOCK_EXPORT void RandomBytes(std::span<std::byte> out);

}  // namespace doclock::platform
