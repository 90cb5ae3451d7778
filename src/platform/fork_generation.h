#pragma once

#include <cstdint>

#include "doclock/export.h"

namespace doclock::platform {

/// A number that differs in a forked child: objects made before the fork belong to the parent.
/// (Asking for the process id would be a system call each time.) Thread-safe.
DOCLOCK_EXPORT std::uint32_t ForkGeneration() noexcept;

}  // namespace doclock::platform
