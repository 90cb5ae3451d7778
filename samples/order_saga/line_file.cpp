#include "line_file.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace order_saga {

void AppendLine(int descriptor, const nlohmann::json& line) {
  const std::string text = line.dump() + '\n';
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    throw std::system_error(written < 0 ? errno : ENOSPC, std::generic_category(), "write");
  }
}

}  // namespace order_saga
