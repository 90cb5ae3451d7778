#pragma once

#include "doclock/export.h"

namespace doclock::platform {

/// While one lives, other threads that fork wait: so a file can be opened and named to CloseOnFork
/// before any child gets a copy. Not recursive, and for short moments.
class DOCLOCK_EXPORT ForkPause {
 public:
  ForkPause();
  ForkPause(const ForkPause&) = delete;
  ForkPause& operator=(const ForkPause&) = delete;
  ~ForkPause();
};

/// Makes forked children close this file descriptor at once. A lock on an open file description
/// lives until the last copy of the descriptor is closed: a child would keep its dead parent's
/// locks. (Programs started by a child never see it: it is close-on-exec.)
DOCLOCK_EXPORT void CloseOnFork(int descriptor, const ForkPause& pause);

/// Forgets the descriptor: to be called before it is closed, or when children shall have it.
DOCLOCK_EXPORT void KeepOnFork(int descriptor, const ForkPause& pause) noexcept;

}  // namespace doclock::platform
