#pragma once

namespace doclock::cli {

/// Declares that a thread still works and cannot be stopped. The program then ends without the
/// destructors of static objects, which that thread may use.
void LeaveThreadsBehind() noexcept;

/// Ends the program at once with this exit code if a thread was left behind; else returns it.
int CodeToLeaveWith(int code) noexcept;

}  // namespace doclock::cli
