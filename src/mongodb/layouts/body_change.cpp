#include "mongodb/layouts/layout_parts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "doclock/errors.h"
#include "document/json/same_json.h"
#include "mongodb/bson/body_codec.h"

namespace doclock::mongodb {
namespace {

[[noreturn]] void RefuseMember(const std::string& path, const char* why) {
  throw DocumentException("doclock: MongoDB: the member " + path + " " + why);
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

/// Appends a number in the type of the one that stood there.
void AppendNumberLike(Doc& doc, std::string_view name, const bson_iter_t& value, bson_type_t stored,
                      const std::string& path) {
  const bson_type_t type = bson_iter_type(&value);
  if (stored == BSON_TYPE_DOUBLE) {
    const double number = bson_iter_as_double(&value);
    if (type != BSON_TYPE_DOUBLE && !IsExactly(number, bson_iter_as_int64(&value))) {
      RefuseMember(path, "has a number that the stored double cannot hold");
    }
    doc.Add(name, number);
    return;
  }
  if (type == BSON_TYPE_DOUBLE) {
    RefuseMember(path, "has a double where a whole number is stored");
  }
  const std::int64_t number = bson_iter_as_int64(&value);
  if (stored == BSON_TYPE_INT64) {
    doc.Add(name, number);
    return;
  }
  if (type == BSON_TYPE_INT64) {
    RefuseMember(path, "has a number that the stored int32 cannot hold");
  }
  doc.Add(name, static_cast<std::int32_t>(number));
}

void AppendMembersLike(Doc& doc, std::string_view name, const bson_iter_t& value,
                       const bson_iter_t& stored, const std::string& path);

/// Appends a value, in which numbers have the types of those that stood there, at any depth.
/// @param stored null: nothing stood there @param path its name, for errors
void AppendLike(Doc& doc, std::string_view name, const bson_iter_t& value,
                const bson_iter_t* stored, const std::string& path) {
  const bson_type_t type = bson_iter_type(&value);
  const bson_type_t before = stored == nullptr ? BSON_TYPE_EOD : bson_iter_type(stored);
  const bool one_is_decimal = (type == BSON_TYPE_DECIMAL128) != (before == BSON_TYPE_DECIMAL128);
  if (one_is_decimal && (IsNumber(type) || IsNumber(before))) {
    RefuseMember(path, "has a number where a decimal is stored, or a decimal in place of a number");
  }
  if (IsNumber(type) && IsNumber(before)) {
    AppendNumberLike(doc, name, value, before, path);
  } else if (type == before && (type == BSON_TYPE_ARRAY || type == BSON_TYPE_DOCUMENT)) {
    AppendMembersLike(doc, name, value, *stored, path);
  } else {
    bson_iter_t made = value;  // bson_iter_value writes to it
    doc.Add(name, *bson_iter_value(&made));
  }
}

/// Of two arrays or two documents. What comes after the end of an array is like its last element.
void AppendMembersLike(Doc& doc, std::string_view name, const bson_iter_t& value,
                       const bson_iter_t& stored, const std::string& path) {
  const bool is_array = bson_iter_type(&value) == BSON_TYPE_ARRAY;
  bson_iter_t item, old;
  if (!bson_iter_recurse(&value, &item) || !bson_iter_recurse(&stored, &old)) {
    RefuseMember(path, "is malformed");
  }
  Doc inner;
  bson_iter_t like = old;
  bool is_known = false;
  while (bson_iter_next(&item)) {
    const char* const key = bson_iter_key(&item);
    if (!is_array) {
      like = old;
      is_known = bson_iter_find(&like, key);
    } else if (bson_iter_next(&old)) {
      like = old;
      is_known = true;
    }
    AppendLike(inner, key, item, is_known ? &like : nullptr, path + "." + key);
  }
  is_array ? doc.AddArray(name, inner) : doc.Add(name, inner);
}

/// The value in place of `stored`.
Doc LiteralFor(const std::string& name, const nlohmann::json& value, const bson_iter_t& stored) {
  Doc one, literal;
  AppendValue(one, "v", value);
  bson_iter_t made;
  FindField(*one.get(), "v", made);
  AppendLike(literal, "$literal", made, &stored, name);
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

}  // namespace doclock::mongodb
