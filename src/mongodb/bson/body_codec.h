#pragma once

#include <bson/bson.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "doclock/document.h"
#include "doclock/options.h"
#include "document/values/lock_field_names.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// Types that JSON lacks appear as canonical Extended JSON, {"$oid": ...},
// {"$date": {"$numberLong": ...}}, {"$numberDecimal": ...}, {"$binary": {...}} and so on, and are
// stored with their own type again. Only the exact form that a read gives counts: any other object
// is stored as an object.
// Whole numbers are int32 where they fit and int64 elsewhere; larger ones are decimals of 34
// digits.

/// Returns the body's tree. @throws DocumentException naming a member whose number has more digits
/// than a double and a decimal hold
const nlohmann::json& TreeForBson(const Body& body);

/// Appends one JSON value. If it throws, the document can only be destroyed.
/// @throws DocumentException
void AppendValue(Doc& doc, std::string_view name, const nlohmann::json& value);

/// Appends the members of a body. Only binary data and rare types allocate more than room in the
/// document. If it throws, the document can only be destroyed. @throws DocumentException
void AppendMembers(Doc& doc, const nlohmann::json& body);

/// The JSON form of a value. @throws DocumentException if it is nested deeper than any server
/// stores.
nlohmann::json ReadValue(const bson_iter_t& value);

/// Is it `_id`, or a field of the lock?
bool IsLockField(std::string_view name, const LockFieldNames& fields);

/// The body in a stored document: all fields but `_id`, the lock's fields, and fields whose names a
/// body may not have. Of two fields with one name it has the first, which updates change. Fields
/// that are not shown are not written either, so that they stay.
/// @param left_out unless null, how many fields were left out for their names
/// @throws DocumentException as ReadValue.
nlohmann::json ReadBody(const bson_t& doc, const LockFieldNames& fields, int* left_out = nullptr);

/// The names of all fields of the lock. All other fields but the key are the body.
inline auto LockFields(const LockFieldNames& names) noexcept {
  std::array<const std::string*, std::tuple_size_v<NamedLockFields>> fields{};
  std::ranges::transform(AllLockFields(names), fields.begin(),
                         &NamedLockFields::value_type::second);
  return fields;
}

/// Adds a name to a list for messages: "_id, lockId".
inline void AddName(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

// BSON types for which this library has no type of its own (regular expressions, timestamps, code,
// and so on) go through libbson's own canonical Extended JSON.

/// May the object stand for such a value? Cheap; false for nearly every object.
bool MayBeRare(const nlohmann::json::object_t& object) noexcept;

/// { "v": the value }, if the object is exactly what reading that value gives.
std::optional<Doc> ParseRare(const nlohmann::json& object);

/// The value's JSON form.
nlohmann::json ReadRare(const bson_iter_t& value);

}  // namespace doclock::mongodb
