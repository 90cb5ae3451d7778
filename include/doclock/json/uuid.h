#pragma once

/// @file
/// JSON forms of Uuid and ObjectId members, for the NLOHMANN_DEFINE_TYPE macros. Include it unless
/// the program brings its own. A Uuid is text in the usual form. An ObjectId is canonical Extended
/// JSON, `{"$oid": "507f1f77bcf86cd799439011"}`, which the MongoDB store keeps as an ObjectId; text
/// of 24 hexadecimal digits is read as well.

#include <nlohmann/json.hpp>

#include "doclock/document.h"
#include "doclock/export.h"

namespace doclock {

/// Text of 36 characters.
DOCLOCK_EXPORT std::string ToText(const Uuid& id);
/// Text of 24 characters.
DOCLOCK_EXPORT std::string ToText(const ObjectId& id);
/// @throws std::invalid_argument if it is not a UUID.
DOCLOCK_EXPORT Uuid UuidFromText(const std::string& text);
/// @throws std::invalid_argument if it is not 24 hexadecimal digits.
DOCLOCK_EXPORT ObjectId ObjectIdFromText(const std::string& text);
/// From text. @throws std::invalid_argument if it is not a UUID.
DOCLOCK_EXPORT Uuid UuidFromJson(const nlohmann::json& value);
/// Returns `{"$oid": "..."}`, canonical Extended JSON.
DOCLOCK_EXPORT nlohmann::json ToExtendedJson(const ObjectId& id);
/// From canonical Extended JSON or text. @throws std::invalid_argument if it is neither.
DOCLOCK_EXPORT ObjectId ObjectIdFromJson(const nlohmann::json& value);

}  // namespace doclock

/// @cond
// Doxygen cannot place specialisations of a template it has not seen.

/// A Uuid as JSON: text of 36 characters.
template <>
struct nlohmann::adl_serializer<doclock::Uuid> {
  /// Writes the text.
  static void to_json(nlohmann::json& out, const doclock::Uuid& id) { out = doclock::ToText(id); }
  /// Reads the text. @throws std::invalid_argument if it is not a UUID.
  static void from_json(const nlohmann::json& in, doclock::Uuid& id) {
    id = doclock::UuidFromJson(in);
  }
};

/// An ObjectId as canonical Extended JSON.
template <>
struct nlohmann::adl_serializer<doclock::ObjectId> {
  /// Writes {"$oid": ...}.
  static void to_json(nlohmann::json& out, const doclock::ObjectId& id) {
    out = doclock::ToExtendedJson(id);
  }
  /// Reads that, or text. @throws std::invalid_argument if it is no ObjectId.
  static void from_json(const nlohmann::json& in, doclock::ObjectId& id) {
    id = doclock::ObjectIdFromJson(in);
  }
};

/// @endcond
