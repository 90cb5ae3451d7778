#include "journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "line_file.h"

namespace order_saga {

Journal::Journal(const std::filesystem::path& file)
    : descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), file.string());
}

Journal::~Journal() { ::close(descriptor_); }

void Journal::Append(const Acknowledged& entry) { AppendLine(descriptor_, entry); }

std::vector<Acknowledged> ReadJournal(const std::filesystem::path& file) {
  std::vector<Acknowledged> entries;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    try {
      entries.push_back(nlohmann::json::parse(text).get<Acknowledged>());
    } catch (const nlohmann::json::exception& error) {
      throw std::runtime_error(file.string() + ", line " + std::to_string(entries.size() + 1) +
                               ": " + error.what());
    }
  }
  return entries;
}

}  // namespace order_saga
