#include "engine/calls/holder_text.h"

#include "document/values/utf8.h"
#include "platform/process.h"

namespace doclock::detail {

std::string AsText(std::string_view name) {
  constexpr std::size_t kMostBytes = 64;
  std::string text;
  AppendEscaped(text, name.substr(0, kMostBytes));
  return text;
}

std::string HostText() { return AsText(platform::HostName()); }

std::string HolderText(const LockHolder& holder) {
  const bool mine = holder.pid == platform::ProcessId() && holder.host == HostText();
  return holder.ToString() + (mine ? ", which is this process by its host and pid" : "");
}

}  // namespace doclock::detail
