#pragma once

#include <functional>

#include "locking/database.h"

namespace doclock::locking {

/// Runs `run`, and again after short pauses while it is Raced. @param run is told whether it ran
/// before. @throws what it throws; Raced after ten times, or at the deadline
void RunUntilUnraced(Deadline deadline, const std::function<void(bool again)>& run);

}  // namespace doclock::locking
