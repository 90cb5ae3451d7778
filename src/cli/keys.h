#pragma once

#include <string>

#include "doclock/key.h"

namespace doclock::cli {

/// A key on the command line: its text and its type (--key-type).
struct KeyText {
  std::string text;
  std::string type = "string";  ///< string, int, uuid or oid
};

/// @throws std::invalid_argument saying what such a key looks like
Key ParseKey(const KeyText& key);

}  // namespace doclock::cli
