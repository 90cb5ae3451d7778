#include "mongodb/layouts/layout_parts.h"

#include <algorithm>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <stdexcept>
#include <variant>

#include "document/json/same_json.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/protocol/lock_change.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kDigits = "0123456789abcdef";

[[noreturn]] void RefuseMember(const std::string& name, const char* why) {
  throw DocumentException("doclock: MongoDB: the member " + name + " " + why);
}

bool IsExactly(double number, std::int64_t whole) {
  return number < 0x1p63 && static_cast<std::int64_t>(number) == whole;
}

bson_subtype_t SubtypeAt(const bson_iter_t& at) {
  bson_subtype_t subtype = BSON_SUBTYPE_BINARY;
  std::uint32_t size = 0;
  const std::uint8_t* data = nullptr;
  bson_iter_binary(&at, &subtype, &size, &data);
  return subtype;
}

/// Appends a value, in which numbers have the types of those that stood there, at any depth. What
/// comes after the end of an array is like its last element. @param stored null: nothing stood
/// there
void AppendLike(Doc& doc, std::string_view name, const bson_iter_t& value,
                const bson_iter_t* stored) {
  bson_iter_t made = value;  // bson_iter_value writes to it
  const bson_type_t type = bson_iter_type(&made);
  const bson_type_t before = stored == nullptr ? BSON_TYPE_EOD : bson_iter_type(stored);
  if (type == BSON_TYPE_INT32 && before == BSON_TYPE_INT64) {
    doc.Add(name, bson_iter_as_int64(&made));
    return;
  }
  if (IsNumber(type) && before == BSON_TYPE_DOUBLE) {
    const double number = bson_iter_as_double(&made);
    if (type != BSON_TYPE_DOUBLE && !IsExactly(number, bson_iter_as_int64(&made))) {
      throw std::range_error("has a number that the stored double cannot hold");
    }
    doc.Add(name, number);
    return;
  }
  if (type == BSON_TYPE_INT64 && before == BSON_TYPE_INT32) {
    throw std::range_error("has a number that the stored int32 cannot hold");
  }
  if (type == BSON_TYPE_DOUBLE && IsNumber(before)) {
    throw std::range_error("has a double where a whole number is stored");
  }
  const bool is_array = type == BSON_TYPE_ARRAY;
  bson_iter_t item, old;
  if (type != before || !(is_array || type == BSON_TYPE_DOCUMENT) ||
      !bson_iter_recurse(&made, &item) || !bson_iter_recurse(stored, &old)) {
    doc.Add(name, *bson_iter_value(&made));
    return;
  }
  Doc inner;
  bson_iter_t like = old;
  bool is_known = false;
  while (bson_iter_next(&item)) {
    if (!is_array) {
      like = old;
      is_known = bson_iter_find(&like, bson_iter_key(&item));
    } else if (bson_iter_next(&old)) {
      like = old;
      is_known = true;
    }
    AppendLike(inner, bson_iter_key(&item), item, is_known ? &like : nullptr);
  }
  is_array ? doc.AddArray(name, inner) : doc.Add(name, inner);
}

/// The value in place of `stored`.
Doc LiteralFor(const std::string& name, const nlohmann::json& value, const bson_iter_t& stored) {
  Doc one, literal;
  AppendValue(one, "v", value);
  bson_iter_t made;
  FindField(*one.get(), "v", made);
  try {
    AppendLike(literal, "$literal", made, &stored);
  } catch (const std::range_error& error) {
    RefuseMember(name, error.what());
  }
  FindField(*literal.get(), "$literal", made);
  const bson_type_t type = bson_iter_type(&made), before = bson_iter_type(&stored);
  const bool is_same =
      type == before && (type != BSON_TYPE_BINARY || SubtypeAt(made) == SubtypeAt(stored));
  if (!is_same && type != BSON_TYPE_NULL && before != BSON_TYPE_NULL) {
    RefuseMember(name, "is of another type in the stored document");
  }
  return literal;
}

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

Doc WithBody(const Doc& statement, const bson_t& seen, const LockFieldNames& lock,
             const nlohmann::json& after, const nlohmann::json& before) {
  Doc set, with;
  for (const auto& [name, value] : after.items()) {
    if (IsLockField(name, lock)) RefuseMember(name, "is the lock's");
    const auto known = before.find(name);
    if (known != before.end() && detail::IsSameJson(*known, value)) continue;
    bson_iter_t stored;
    if (!FindField(seen, name, stored)) RefuseMember(name, "is not in the stored document");
    set.Add(name, LiteralFor(name, value, stored));
  }
  for (const auto& [name, value] : before.items()) {
    if (!after.contains(name)) RefuseMember(name, "of the stored document is missing");
  }
  Array stages;
  ForEachItem(*statement.get(), "u", [&](const bson_iter_t& item) {
    bson_iter_t stage = item;  // bson_iter_value writes to it
    stages.Add(*bson_iter_value(&stage));
    return true;
  });
  if (!set.empty()) stages.Add(Doc::Of("$set", set));
  bson_iter_t filter;
  FindField(*statement.get(), "q", filter);
  return std::move(with.Add("q", *bson_iter_value(&filter)).Add("u", stages));
}

bool IsStored(const nlohmann::json& body, const nlohmann::json& stored) {
  // Compared as doubles, which is how WithBody stores it.
  if (stored.is_number_float() && body.is_number_integer()) return stored == body;
  const auto is_same = [](const nlohmann::json& a, const nlohmann::json& b) {
    return IsStored(a, b);
  };
  if (body.is_array() && stored.is_array()) {
    return std::equal(body.begin(), body.end(), stored.begin(), stored.end(), is_same);
  }
  if (!body.is_object() || !stored.is_object()) return detail::IsSameJson(stored, body);
  return body.size() == stored.size() &&
         std::all_of(body.items().begin(), body.items().end(), [&](const auto& member) {
           const auto found = stored.find(member.key());
           return found != stored.end() && IsStored(member.value(), *found);
         });
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

Key KeyIn(const Layout& layout, const Key& key) {
  const auto* const text = std::get_if<std::string>(&key.value());
  if (layout.beside_body() == nullptr || text == nullptr) return key;
  const std::optional<Uuid> id = UuidIn(*text);
  return id ? Key(*id) : key;
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
