#include <fstream>
#include <string>

#include "sqlite/gate.h"

namespace doclock::sqlite {

std::int64_t BootNumber() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  if (!std::getline(file, text)) return 0;
  return static_cast<std::int64_t>(TagOf(text) >> 1) | 1;
}

}  // namespace doclock::sqlite
