#pragma once

#include "doclock/export.h"

namespace doclock::platform {

/// Delays forks of other threads while it lives, so that a file can be opened and passed to
/// CloseOnFork before a child gets a copy. Not recursive; hold it for short moments only.
class DOCLOCK_EXPORT ForkPause {
 public:
  ForkPause();
  ForkPause(const ForkPause&) = delete;
  ForkPause& operator=(const ForkPause&) = delete;
  ~ForkPause();
};

/// Makes forked children close this file descriptor at once. A lock on an open file description
/// lives until the last copy of the descriptor is closed, so a child would keep its dead parent's
/// locks. (Programs that a child starts do not get it: it is close-on-exec.)
DOCLOCK_EXPORT void CloseOnFork(int descriptor, const ForkPause& pause);

/// Forgets the descriptor. Call this before it is closed, or if children shall keep it.
DOCLOCK_EXPORT void KeepOnFork(int descriptor, const ForkPause& pause) noexcept;

}  // namespace doclock::platform
