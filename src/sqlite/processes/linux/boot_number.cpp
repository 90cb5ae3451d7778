#include <string>

#include "platform/process.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

std::int64_t BootNumber() {
  const std::string id = platform::BootId();
  return id.empty() ? 0 : static_cast<std::int64_t>(TagOf(id) >> 1) | 1;
}

}  // namespace doclock::sqlite
