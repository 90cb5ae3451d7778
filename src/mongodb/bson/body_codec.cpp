#include "mongodb/bson/body_codec.h"

#include <algorithm>
#include <cmath>

#include "doclock/errors.h"
#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "doclock/time.h"
#include "document/values/utf8.h"

namespace doclock::mongodb {
namespace {

using nlohmann::json;
using Object = json::object_t;

/// More than servers store (180).
constexpr int kDeepest = 250;
constexpr std::string_view kInt64Max = "9223372036854775807";

json Read(const bson_iter_t& iter, int depth);

/// The decimal that AppendValue makes from a whole number above int64: 34 digits, zeros after the
/// point.
bool ReadLargeInteger(std::string_view text, json& value) {
  constexpr std::size_t kDigits = 34;
  if (text.size() != kDigits + 1) return false;
  const std::size_t point = text.find('.');
  if (point != kInt64Max.size() && point != kInt64Max.size() + 1) return false;
  if (text.find_first_not_of('0', point + 1) != text.npos) return false;
  const std::string_view whole = text.substr(0, point);
  if (whole.size() == kInt64Max.size() && whole <= kInt64Max) return false;
  json parsed = json::parse(whole, nullptr, false);
  if (!parsed.is_number_unsigned()) return false;
  value = std::move(parsed);
  return true;
}

json ReadDecimal(const bson_iter_t& iter) {
  bson_decimal128_t decimal;
  bson_iter_decimal128(&iter, &decimal);
  char text[BSON_DECIMAL128_STRING];
  bson_decimal128_to_string(&decimal, text);
  json value;
  if (ReadLargeInteger(text, value)) return value;
  value = json::object();
  value["$numberDecimal"] = text;
  return value;
}

json ReadBinary(const bson_iter_t& iter) {
  bson_subtype_t subtype = BSON_SUBTYPE_BINARY;
  std::uint32_t size = 0;
  const std::uint8_t* data = nullptr;
  bson_iter_binary(&iter, &subtype, &size, &data);
  return Binary{std::vector<std::uint8_t>(data, data + size), static_cast<std::uint8_t>(subtype)};
}

json ReadObjectId(const bson_iter_t& iter) {
  ObjectId id;
  std::copy_n(bson_iter_oid(&iter)->bytes, id.bytes.size(), id.bytes.begin());
  return id;
}

json ReadDate(const bson_iter_t& iter) {
  return Date(Date::TimePoint(std::chrono::milliseconds(bson_iter_date_time(&iter))));
}

/// Keeps the first of two members with one name. Ascending names, as this library writes them, need
/// no search.
void AddMember(Object& members, std::string_view name, json&& value) {
  if (members.empty() || std::prev(members.end())->first < name) {
    members.emplace_hint(members.end(), name, std::move(value));
  } else {
    members.emplace(name, std::move(value));
  }
}

std::string_view NameAt(const bson_iter_t& iter) {
  return {bson_iter_key(&iter), bson_iter_key_len(&iter)};
}

json ReadMembers(const bson_iter_t& parent, int depth) {
  if (depth > kDeepest) throw DocumentException("the stored body is nested too deep");
  bson_iter_t iter;
  json result = json::object();
  if (!bson_iter_recurse(&parent, &iter)) return result;
  auto& members = *result.get_ptr<Object*>();
  while (bson_iter_next(&iter)) AddMember(members, NameAt(iter), Read(iter, depth));
  return result;
}

json ReadArray(const bson_iter_t& parent, int depth) {
  if (depth > kDeepest) throw DocumentException("the stored body is nested too deep");
  bson_iter_t iter;
  json result = json::array();
  if (!bson_iter_recurse(&parent, &iter)) return result;
  auto& values = *result.get_ptr<json::array_t*>();
  while (bson_iter_next(&iter)) values.push_back(Read(iter, depth));
  return result;
}

json Read(const bson_iter_t& iter, int depth) {
  switch (bson_iter_type(&iter)) {
    case BSON_TYPE_NULL:
      return nullptr;
    case BSON_TYPE_BOOL:
      return bson_iter_bool(&iter);
    case BSON_TYPE_INT32:
      return bson_iter_int32(&iter);
    case BSON_TYPE_INT64:
      return bson_iter_int64(&iter);
    case BSON_TYPE_DOUBLE: {
      const double number = bson_iter_double(&iter);
      return std::isfinite(number) ? json(number) : ReadRare(iter);
    }
    case BSON_TYPE_UTF8: {
      std::uint32_t size = 0;
      const char* const text = bson_iter_utf8(&iter, &size);
      return std::string(text, size);
    }
    case BSON_TYPE_DOCUMENT:
      return ReadMembers(iter, depth + 1);
    case BSON_TYPE_ARRAY:
      return ReadArray(iter, depth + 1);
    case BSON_TYPE_DECIMAL128:
      return ReadDecimal(iter);
    case BSON_TYPE_DATE_TIME:
      return ReadDate(iter);
    case BSON_TYPE_OID:
      return ReadObjectId(iter);
    case BSON_TYPE_BINARY:
      return ReadBinary(iter);
    default:
      return ReadRare(iter);
  }
}

/// CheckBody refuses such a name at the top of a body.
bool IsForbidden(std::string_view name) {
  return name.empty() || name.front() == '$' || name.find('.') != name.npos ||
         name.find('\0') != name.npos || !detail::IsUtf8(name);
}

}  // namespace

bool IsLockField(std::string_view name, const LockFieldNames& fields) {
  const auto all = LockFields(fields);
  return name == "_id" || std::any_of(all.begin(), all.end(),
                                      [&](const std::string* field) { return name == *field; });
}

json ReadValue(const bson_iter_t& iter) { return Read(iter, 1); }

json ReadBody(const bson_t& doc, const LockFieldNames& fields, int* left_out) {
  json body = json::object();
  bson_iter_t iter;
  if (!bson_iter_init(&iter, &doc)) return body;
  auto& members = *body.get_ptr<Object*>();
  while (bson_iter_next(&iter)) {
    const std::string_view name = NameAt(iter);
    if (IsLockField(name, fields)) continue;
    if (!IsForbidden(name)) {
      AddMember(members, name, Read(iter, 1));
    } else if (left_out != nullptr) {
      ++*left_out;
    }
  }
  return body;
}

}  // namespace doclock::mongodb
