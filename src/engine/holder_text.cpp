#include "engine/holder_text.h"

#include "platform/process.h"

namespace doclock::detail {

std::string HolderText(const LockHolder& holder) {
  const bool mine = holder.pid == platform::ProcessId() && holder.host == platform::HostName();
  return holder.ToString() + (mine ? ", which is this process by its host and pid" : "");
}

}  // namespace doclock::detail
