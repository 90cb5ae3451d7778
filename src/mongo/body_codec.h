#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "doclock/options.h"
#include "mongo/bson.h"

namespace doclock::mongo {

// Types that JSON lacks have the names of canonical Extended JSON, and come back as what they were:
// {"$oid": ...}, {"$date": {"$numberLong": ...}}, {"$numberDecimal": ...}, {"$binary": {...}}, and
// so on. Whole numbers are int32 where they fit and int64 elsewhere; what lies above is a decimal.

/// Appends one JSON value. @throws DocumentException
void AppendValue(Doc& doc, std::string_view name, const nlohmann::json& value);

/// Appends the members of a body. @throws DocumentException
void AppendMembers(Doc& doc, const nlohmann::json& body);

/// The JSON form of a value.
nlohmann::json ReadValue(const bson_iter_t& value);

/// The body in a stored document: all but `_id` and the lock's fields.
nlohmann::json ReadBody(const bson_t& doc, const LockFieldNames& fields);

}  // namespace doclock::mongo
