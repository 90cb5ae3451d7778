#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "doclock/body.h"
#include "doclock/options.h"
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

/// Appends the members of a body; allocates only room in the document, but for binary data and rare
/// types. If it throws, the document can only be destroyed. @throws DocumentException
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

}  // namespace doclock::mongodb
