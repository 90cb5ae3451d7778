#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace doclock::cli {

/// The text is no JSON, or cannot be a document.
struct BadJson : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws BadJson also for JSON that would not be stored as it stands (see FaultIn)
nlohmann::json ParseJson(const std::string& text);

/// Reads a whole file; "-" is standard input. @throws std::invalid_argument
std::string ReadAll(const std::string& file);

}  // namespace doclock::cli
