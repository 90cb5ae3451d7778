#pragma once

#include <cstdint>
#include <string>

#include "cli/options/keys.h"
#include "doclock/document.h"
#include "document/json/exact_json.h"

namespace doclock::cli {

/// A document as the command shows, exports and imports it: one line of JSON.
struct DocumentLine {
  Key key;
  std::int64_t version = 0;
  bool locked = false;
  Body body;
  int left_out = 0;  ///< Members that are stored, and that no body can have.
};

/// {"body":...,"key":...,"keyType":...,"locked":...,"version":...}
detail::ExactJson LineOf(const DocumentLine& document);

/// Reads key and body. `keyType` may be missing for a string; other members are ignored.
/// @throws BadData, also if the body cannot be stored
DocumentLine ParseLine(const std::string& text);

}  // namespace doclock::cli
