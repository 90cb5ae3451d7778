#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "doclock/body.h"
#include "document/json/exact_json.h"

namespace doclock::cli {

/// The text is no JSON, or cannot be a document.
struct BadJson : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws BadJson also for JSON that would not be stored as it stands (see FaultIn)
detail::ExactJson ParseJson(const std::string& text);

/// Returns it as the body of a document. @throws BadJson if it cannot be one, as the library would
/// find when it writes it
Body StorableBody(detail::ExactJson what);

/// JSON as the program prints it: on one line, or indented. Characters that could control a
/// terminal or turn the direction of its text are written \u009b, which is the same value. Text of
/// other programs may not be UTF-8; such bytes are replaced.
std::string JsonText(const nlohmann::json& what, int indent = -1);

/// JSON text with all digits of its numbers.
std::string ExactText(const detail::ExactJson& what, int indent = -1);

/// JSON as above, from the text that `dump` made.
std::string WithoutControls(std::string dumped);

}  // namespace doclock::cli
