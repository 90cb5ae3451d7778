#pragma once

#include <chrono>
#include <string>

#include "doclock/lock_admin.h"
#include "doclock/store/store.h"

namespace doclock::named {

/// A lock as users see it. `now` is the wall clock.
LockStatus StatusOf(const LockRow& row, std::chrono::system_clock::time_point now);

/// Its lease was renewed with this length, which never shortens it.
void NoteRenewed(LockStatus& lock, std::chrono::milliseconds ttl);

/// What a message says of a malformed lock, behind its name.
std::string WhyMalformed(const LockRow& row);

/// Does the lock meet the filter?
bool Matches(const LockStatus& lock, const LockFilter& filter);

}  // namespace doclock::named
