#include "mongo/body_codec.h"

#include <limits>
#include <memory>

#include "doclock/errors.h"

namespace doclock::mongo {
namespace {

using nlohmann::json;

[[noreturn]] void Refuse(const char* why) {
  throw DocumentException(std::string("the body cannot be put into BSON: ") + why);
}

constexpr std::string_view kInt64Max = "9223372036854775807";

/// Names of canonical Extended JSON that stand for a value of their own.
bool MayBeExtended(const json& object) {
  if (object.empty() || object.size() > 2) return false;
  return object.begin().key().front() == '$';
}

/// Appends what an Extended JSON object stands for; false when it stands for nothing.
bool AppendExtended(Doc& doc, std::string_view name, const json& object) {
  if (!MayBeExtended(object)) return false;
  const std::string text = json{{"v", object}}.dump();
  bson_error_t error;
  bson_t* const parsed = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                            static_cast<ssize_t>(text.size()), &error);
  if (parsed == nullptr) return false;
  const OwnedBson owner(parsed);
  bson_iter_t iter;
  if (!bson_iter_init_find(&iter, parsed, "v") || BSON_ITER_HOLDS_DOCUMENT(&iter)) return false;
  doc.Add(name, *bson_iter_value(&iter));
  return true;
}

void AppendUnsigned(Doc& doc, std::string_view name, std::uint64_t value) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value <= std::numeric_limits<std::int32_t>::max()) {
    doc.Add(name, static_cast<int>(value));
  } else if (value <= kMax) {
    doc.Add(name, static_cast<std::int64_t>(value));
  } else {
    bson_decimal128_t decimal;
    bson_decimal128_from_string(std::to_string(value).c_str(), &decimal);
    bson_value_t holder{};
    holder.value_type = BSON_TYPE_DECIMAL128;
    holder.value.v_decimal128 = decimal;
    doc.Add(name, holder);
  }
}

void AppendSigned(Doc& doc, std::string_view name, std::int64_t value) {
  if (value >= std::numeric_limits<std::int32_t>::min() &&
      value <= std::numeric_limits<std::int32_t>::max()) {
    doc.Add(name, static_cast<int>(value));
  } else {
    doc.Add(name, value);
  }
}

void AppendArray(Doc& doc, std::string_view name, const json& values) {
  Doc array;
  std::size_t index = 0;
  for (const json& value : values) AppendValue(array, std::to_string(index++), value);
  doc.AddArray(name, array);
}

/// A decimal that is a whole number above int64 is what AppendUnsigned made.
bool ReadLargeInteger(const std::string& text, json& value) {
  if (text.size() < kInt64Max.size() || text.size() > kInt64Max.size() + 1) return false;
  if (text.find_first_not_of("0123456789") != text.npos || text.front() == '0') return false;
  if (text.size() == kInt64Max.size() && text <= kInt64Max) return false;
  const json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_number_unsigned()) return false;
  value = parsed;
  return true;
}

json ReadDecimal(const bson_iter_t& iter) {
  bson_decimal128_t decimal;
  bson_iter_decimal128(&iter, &decimal);
  char text[BSON_DECIMAL128_STRING];
  bson_decimal128_to_string(&decimal, text);
  json large;
  if (ReadLargeInteger(text, large)) return large;
  return {{"$numberDecimal", text}};
}

/// Through libbson's own canonical Extended JSON: for types that are rare.
json ReadExtended(const bson_iter_t& iter) {
  Doc wrapped;
  wrapped.Add("v", *bson_iter_value(const_cast<bson_iter_t*>(&iter)));
  std::size_t size = 0;
  const std::unique_ptr<char, decltype(&bson_free)> text(
      bson_as_canonical_extended_json(wrapped.get(), &size), &bson_free);
  return json::parse(text.get(), text.get() + size).at("v");
}

json ReadMembers(bson_iter_t iter, bool array) {
  json result = array ? json::array() : json::object();
  while (bson_iter_next(&iter)) {
    if (array) {
      result.push_back(ReadValue(iter));
    } else {
      result[std::string(bson_iter_key(&iter), bson_iter_key_len(&iter))] = ReadValue(iter);
    }
  }
  return result;
}

bool IsLockField(std::string_view name, const LockFieldNames& fields) {
  return name == "_id" || name == fields.id || name == fields.time || name == fields.ttl ||
         name == fields.version || name == fields.born || name == fields.owner ||
         name == fields.released || name == fields.closed;
}

}  // namespace

void AppendValue(Doc& doc, std::string_view name, const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      doc.AddNull(name);
      return;
    case json::value_t::boolean:
      doc.Add(name, value.get<bool>());
      return;
    case json::value_t::number_integer:
      return AppendSigned(doc, name, value.get<std::int64_t>());
    case json::value_t::number_unsigned:
      return AppendUnsigned(doc, name, value.get<std::uint64_t>());
    case json::value_t::number_float:
      doc.Add(name, value.get<double>());
      return;
    case json::value_t::string:
      doc.Add(name, std::string_view(value.get_ref<const std::string&>()));
      return;
    case json::value_t::array:
      return AppendArray(doc, name, value);
    case json::value_t::object: {
      if (AppendExtended(doc, name, value)) return;
      Doc members;
      AppendMembers(members, value);
      doc.Add(name, members);
      return;
    }
    default:
      Refuse("it holds binary data");
  }
}

void AppendMembers(Doc& doc, const json& body) {
  for (const auto& [name, value] : body.items()) AppendValue(doc, name, value);
}

json ReadValue(const bson_iter_t& iter) {
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
      if (number - number != 0) return ReadExtended(iter);  // NaN and the infinities
      return number;
    }
    case BSON_TYPE_UTF8: {
      std::uint32_t size = 0;
      const char* const text = bson_iter_utf8(&iter, &size);
      return std::string(text, size);
    }
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY: {
      bson_iter_t child;
      if (!bson_iter_recurse(&iter, &child)) return nullptr;
      return ReadMembers(child, BSON_ITER_HOLDS_ARRAY(&iter));
    }
    case BSON_TYPE_DECIMAL128:
      return ReadDecimal(iter);
    default:
      return ReadExtended(iter);
  }
}

json ReadBody(const bson_t& doc, const LockFieldNames& fields) {
  json body = json::object();
  bson_iter_t iter;
  if (!bson_iter_init(&iter, &doc)) return body;
  while (bson_iter_next(&iter)) {
    const std::string_view name(bson_iter_key(&iter), bson_iter_key_len(&iter));
    if (!IsLockField(name, fields)) body[std::string(name)] = ReadValue(iter);
  }
  return body;
}

}  // namespace doclock::mongo
