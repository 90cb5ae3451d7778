#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/output/exit_codes.h"
#include "doclock/document.h"
#include "document/json/exact_json.h"

namespace doclock::cli {

/// The input cannot be used: it is no JSON, or cannot be a document.
struct BadData : Failure {
  explicit BadData(const std::string& text) : Failure(kBadData, text) {}
};

/// @throws BadData also if one of two members of one name would not be stored
detail::ExactJson ParseJson(const std::string& text);

/// Returns it as the body of a document. @throws BadData if it cannot be one, as the library would
/// find when it writes it
Body StorableBody(detail::ExactJson what);

/// JSON as the program prints it: on one line, or indented. Characters that could control a
/// terminal or turn the direction of its text are written \u009b, which is the same value. Text of
/// other programs may not be UTF-8; such bytes are replaced.
std::string JsonText(const nlohmann::json& what, int indent = -1);

/// Prints JSON on one line, as JsonText writes it.
void PrintJson(const nlohmann::json& what);

/// JSON text with all digits of its numbers.
std::string ExactText(const detail::ExactJson& what, int indent = -1);

/// JSON as above, from the text that `dump` made.
std::string WithoutControls(std::string dumped);

}  // namespace doclock::cli
