#include "mongodb/layouts/layout_parts.h"

#include <algorithm>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <stdexcept>

#include "mongodb/statements/statements.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string FirstBadField(const bson_t& doc, std::span<const LayoutField> fields) {
  bson_iter_t at;
  if (bson_iter_init(&at, &doc)) {
    while (bson_iter_next(&at)) {
      const std::string_view name = bson_iter_key(&at);
      const auto is = [&](const LayoutField& field) { return name == field.name; };
      if (name != "_id" && std::none_of(fields.begin(), fields.end(), is)) return std::string(name);
    }
  }
  for (const LayoutField& field : fields) {
    if (!FindField(doc, field.name, at) || bson_iter_type(&at) != field.type) return field.name;
  }
  return {};
}

Doc GuardOf(const Key& key, const bson_t& seen, std::span<const LayoutField> fields) {
  Doc guard = Doc::Of("_id", Equals(key));
  for (const LayoutField& field : fields) AddAsSeen(guard, field.name, seen);
  return guard;
}

bool IsNumber(bson_type_t type) {
  return type == BSON_TYPE_INT32 || type == BSON_TYPE_INT64 || type == BSON_TYPE_DOUBLE;
}

bool HasType(const bson_t& doc, const char* field, bson_type_t type, bool or_nothing) {
  bson_iter_t at;
  if (!FindField(doc, field, at)) return or_nothing;
  return bson_iter_type(&at) == type || (or_nothing && bson_iter_type(&at) == BSON_TYPE_NULL);
}

std::int64_t DateAt(const bson_t& doc, const char* field) {
  bson_iter_t at;
  return FindField(doc, field, at) && BSON_ITER_HOLDS_DATE_TIME(&at) ? bson_iter_date_time(&at) : 0;
}

bson_value_t DateOf(std::int64_t ms) {
  bson_value_t value{};
  value.value_type = BSON_TYPE_DATE_TIME;
  value.value.v_datetime = ms;
  return value;
}

Doc AfterNow(milliseconds length) {
  Doc add;
  add.Add("startDate", "$$NOW").Add("unit", "millisecond").Add("amount", length);
  return Doc::Of("$dateAdd", add);
}

Doc StageOn(const Doc& filter, const Doc& stage) {
  Doc statement;
  statement.Add("q", filter).Add("u", Array().Add(stage));
  return statement;
}

TimePoint SeenFrom(std::int64_t now, std::int64_t time) {
  const double away = static_cast<double>(time) - static_cast<double>(now);
  if (away > kLongestTimeMs) return kLookedAt + milliseconds(kLongestTimeMs);
  if (away < -kLongestTimeMs) return kLookedAt - milliseconds(kLongestTimeMs);
  return kLookedAt + milliseconds(time - now);
}

rules::Lease LeaseUntil(TimePoint end) {
  const auto left = std::chrono::ceil<milliseconds>(end - kLookedAt);
  return {kLookedAt + std::min(left, milliseconds(0)), std::max(left, milliseconds(0))};
}

std::optional<Uuid> UuidIn(const std::string& text) {
  try {
    const Uuid id = boost::uuids::string_generator{}(text);
    if (boost::uuids::to_string(id) == text) return id;
  } catch (const std::runtime_error&) {
  }
  return std::nullopt;
}

std::string HexOf(const Uuid& id) {
  std::string text;
  for (const std::uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Uuid> HolderIn(std::string_view hex) {
  Uuid id{};
  if (hex.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const std::size_t digit = kDigits.find(hex[i]);
    if (digit == kDigits.npos) return std::nullopt;
    std::uint8_t& byte = id.begin()[i / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | digit);
  }
  if (id.is_nil() || id == kSharedLockId) return std::nullopt;
  return id;
}

}  // namespace doclock::mongodb
