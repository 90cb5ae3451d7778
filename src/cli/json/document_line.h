#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/options/keys.h"
#include "doclock/key.h"

namespace doclock::cli {

/// A document as the command shows, exports and imports it: one line of JSON.
struct DocumentLine {
  Key key;
  std::int64_t version = 0;
  bool locked = false;
  nlohmann::json body;
};

/// {"body":...,"key":...,"keyType":...,"locked":...,"version":...}
nlohmann::json LineOf(const DocumentLine& document);

/// Reads key and body. `keyType` may be missing for a string; other members are ignored.
/// @throws BadJson
DocumentLine ParseLine(const std::string& text);

}  // namespace doclock::cli
