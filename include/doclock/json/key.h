#pragma once

/// @file
/// A Key as JSON, so that one document can name another: text and numbers as they are, an ObjectId
/// as `{"$oid": ...}` and a UUID as `{"$binary": {...}}` of subtype 04, which MongoDB keeps as
/// such.

#include <nlohmann/json.hpp>

#include "doclock/document.h"
#include "doclock/export.h"

namespace doclock {

/// Returns the key as JSON, with its type: KeyFromMember gives an equal key.
DOCLOCK_EXPORT nlohmann::json KeyToMember(const Key& key);
/// Returns the key that KeyToMember wrote. @throws std::invalid_argument if it is no key.
DOCLOCK_EXPORT Key KeyFromMember(const nlohmann::json& in);

}  // namespace doclock

/// @cond

// Not a to_json beside Key: what converts to a Key would get this form, too.
template <>
struct nlohmann::adl_serializer<doclock::Key> {
  static void to_json(nlohmann::json& out, const doclock::Key& key) {
    out = doclock::KeyToMember(key);
  }
  static void from_json(const nlohmann::json& in, doclock::Key& key) {
    key = doclock::KeyFromMember(in);
  }
};

/// @endcond
