#pragma once

#include "doclock/export.h"

namespace doclock::platform {

/// Makes forked children close this file descriptor at once. A lock on an open file description
/// lives until the last copy of the descriptor is closed: a child would keep its dead parent's
/// locks. (Programs started by a child never see it: it is close-on-exec.) Thread-safe.
DOCLOCK_EXPORT void CloseOnFork(int descriptor);

/// Forgets the descriptor: to be called before it is closed, or when children shall have it.
DOCLOCK_EXPORT void KeepOnFork(int descriptor) noexcept;

}  // namespace doclock::platform
