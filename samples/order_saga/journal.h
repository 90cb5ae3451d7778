#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace order_saga {

/// A step of which a worker knows that it is stored.
struct Acknowledged {
  std::string saga;
  std::string step;
  std::int64_t fence = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Acknowledged, saga, step, fence)

/// A worker's own record of its acknowledged steps, beside the store, for the audit.
class Journal {
 public:
  /// Opens the file for appending, and makes it. @throws std::system_error
  explicit Journal(const std::filesystem::path& file);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void Append(const Acknowledged& entry);

 private:
  int descriptor_;
};

/// Reads a journal; one that is not there is empty, as its worker never got that far.
/// @throws std::runtime_error naming file and line if a line is damaged.
std::vector<Acknowledged> ReadJournal(const std::filesystem::path& file);

}  // namespace order_saga
