#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "doclock/options.h"
#include "mongodb/bson/bson.h"
#include "mongodb/layouts/layout.h"

namespace doclock::mongodb {

// What layouts have in common.

/// A field of the other library, besides `_id`, and the type that it writes.
struct LayoutField {
  const char* name;
  bson_type_t type;
};

/// The first field that is none of these, is missing, or has another type; empty: there is none.
std::string FirstBadField(const bson_t& doc, std::span<const LayoutField> fields);

/// Matches the document while each of these fields is as `seen` shows it.
Doc GuardOf(const Key& key, const bson_t& seen, std::span<const LayoutField> fields);

bool IsNumber(bson_type_t type);
/// Has the field this type? @param or_nothing or is it null or missing?
bool HasType(const bson_t& doc, const char* field, bson_type_t type, bool or_nothing = false);
/// The date at a top-level name; 0 if there is none.
std::int64_t DateAt(const bson_t& doc, const char* field);
bson_value_t DateOf(std::int64_t ms);
/// An expression: the date so long after the server's time.
Doc AfterNow(std::chrono::milliseconds length);

/// The statement of an update by one stage.
Doc StageOn(const Doc& filter, const Doc& stage);

/// A time of a document, as far from kLookedAt as it is from the server's. @param now the server's
/// clock, from the same command @param time both in ms
TimePoint SeenFrom(std::int64_t now, std::int64_t time);
/// The lease that ends then: documents do not tell how long one is.
rules::Lease LeaseUntil(TimePoint end);

/// The UUID that the text is in its usual form, in lower case.
std::optional<Uuid> UuidIn(const std::string& text);
/// 32 hexadecimal digits in lower case.
std::string HexOf(const Uuid& id);
/// Nothing for what is none, or would be taken for something else than a holder's id.
std::optional<Uuid> HolderIn(std::string_view hex);

// What doclock changes in a body that another library reads.

/// Adds a stage to the statement of an update by stages: the members of `after` that `before` has
/// not, or has otherwise. A document keeps its members, and each of them its type: a whole number
/// is stored in that of the number before it. @param lock these members are the lock's: a body that
/// has one is refused @throws DocumentException names the member that does not fit
Doc WithBody(const Doc& statement, const bson_t& seen, const LockFieldNames& lock,
             const nlohmann::json& after, const nlohmann::json& before);
/// Is `stored` what WithBody makes of `body`?
bool IsStored(const nlohmann::json& body, const nlohmann::json& stored);

}  // namespace doclock::mongodb
