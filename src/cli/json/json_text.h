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

/// @throws BadJson if this cannot be the body of a document, as the library would find when it
/// writes it
void CheckStorable(const nlohmann::json& body);

/// JSON as the program prints it: on one line, or indented. Characters that could control a
/// terminal or turn the direction of its text are written \u009b, which is the same value. Text of
/// other programs may not be UTF-8; such bytes are replaced.
std::string JsonText(const nlohmann::json& what, int indent = -1);

/// JSON as above, from the text that `dump` made.
std::string WithoutControls(std::string dumped);

}  // namespace doclock::cli
