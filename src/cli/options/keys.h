#pragma once

#include <string>

#include "doclock/document.h"

namespace doclock::cli {

/// A key on the command line: its text and its type (--key-type).
struct KeyText {
  std::string text;
  std::string type = "string";  ///< string, int, uuid or oid
};

/// A key as it is given on the command line. Its text is exact, unlike Key::ToString().
KeyText TextOf(const Key& key);

/// @throws std::invalid_argument saying what such a key looks like, or naming an unknown type
Key ParseKey(const KeyText& key);

}  // namespace doclock::cli
