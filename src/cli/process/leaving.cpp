#include "cli/process/leaving.h"

#include <unistd.h>

namespace doclock::cli {
namespace {

bool threads_left = false;

}  // namespace

void LeaveThreadsBehind() noexcept { threads_left = true; }

int CodeToLeaveWith(int code) noexcept {
  if (threads_left) ::_exit(code);
  return code;
}

}  // namespace doclock::cli
