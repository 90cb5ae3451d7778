#include <bson/bson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "doclock/errors.h"
#include "document/json/exact_json.h"
#include "document/json/number_parts.h"
#include "document/json/same_json.h"
#include "document/json/typed_value.h"
#include "document/values/base64.h"
#include "document/values/utf8.h"
#include "mongodb/bson/body_codec.h"
#include "platform/plain_numbers.h"

namespace doclock::mongodb {
namespace {

using detail::TypedKind;
using nlohmann::json;
using Object = json::object_t;

/// Decimal places of a whole number above int64: no other program writes so many.
constexpr std::size_t kDecimalDigits = 34;

[[noreturn]] void Refuse(const char* why) {
  throw DocumentException(std::string("the body cannot be put into BSON: ") + why);
}

const std::string& TextIn(const json& object, const char* name) {
  return object.get_ptr<const Object*>()->find(name)->second.get_ref<const std::string&>();
}

const json& ContentOf(const json& object) {
  return object.get_ptr<const Object*>()->begin()->second;
}

void Append(bson_t& doc, std::string_view name, const json& value);

/// Appends one element by libbson. If it throws, the document can only be destroyed.
class Element {
 public:
  Element(bson_t& doc, std::string_view name)
      : doc_(&doc), name_(name.data()), size_(static_cast<int>(name.size())) {}

  void Add(const json& value) const {
    switch (value.type()) {
      case json::value_t::null:
        return Check(bson_append_null(doc_, name_, size_));
      case json::value_t::boolean:
        return Check(bson_append_bool(doc_, name_, size_, value.get<bool>()));
      case json::value_t::number_integer:
        return AddInteger(value.get<std::int64_t>());
      case json::value_t::number_unsigned: {
        const auto number = value.get<std::uint64_t>();
        if (number <= std::numeric_limits<std::int64_t>::max()) {
          return AddInteger(static_cast<std::int64_t>(number));
        }
        std::string text = std::to_string(number);
        text += "." + std::string(kDecimalDigits - text.size(), '0');
        return AddDecimal(text);
      }
      case json::value_t::number_float:
        return Check(bson_append_double(doc_, name_, size_, value.get<double>()));
      case json::value_t::string:
        return AddText(value.get_ref<const std::string&>());
      case json::value_t::array:
        return AddArray(value);
      case json::value_t::object:
        return AddObjectOrTyped(value);
      default:
        Refuse("it holds binary data");
    }
  }

 private:
  /// libbson refuses a name with NUL and a document above 2 GB.
  static void Check(bool appended) {
    if (!appended) Refuse("it is too large");
  }

  void AddInteger(std::int64_t number) const {
    const auto small = static_cast<std::int32_t>(number);
    Check(small == number ? bson_append_int32(doc_, name_, size_, small)
                          : bson_append_int64(doc_, name_, size_, number));
  }

  void AddDecimal(const std::string& text) const {
    bson_decimal128_t decimal;
    if (!bson_decimal128_from_string(text.c_str(), &decimal)) Refuse("a decimal is out of range");
    Check(bson_append_decimal128(doc_, name_, size_, &decimal));
  }

  void AddText(const std::string& text) const {
    if (!detail::IsUtf8(text)) Refuse("a string is not valid UTF-8");
    Check(bson_append_utf8(doc_, name_, size_, text.data(), static_cast<int>(text.size())));
  }

  void AddArray(const json& values) const {
    bson_t inner;
    char buffer[16];
    const char* name = nullptr;
    std::uint32_t index = 0;
    Check(bson_append_array_begin(doc_, name_, size_, &inner));
    for (const json& value : values) {
      const std::size_t size = bson_uint32_to_string(index++, &name, buffer, sizeof buffer);
      Append(inner, {name, size}, value);
    }
    Check(bson_append_array_end(doc_, &inner));
  }

  void AddObjectOrTyped(const json& value) const {
    switch (detail::KindOf(value)) {
      case TypedKind::kDate:
        return AddDate(TextIn(ContentOf(value), "$numberLong"));
      case TypedKind::kBinary:
        return AddBinary(ContentOf(value));
      case TypedKind::kObjectId: {
        bson_oid_t id;
        bson_oid_init_from_string(&id, ContentOf(value).get_ref<const std::string&>().c_str());
        return Check(bson_append_oid(doc_, name_, size_, &id));
      }
      case TypedKind::kDecimal:
        return AddDecimal(ContentOf(value).get_ref<const std::string&>());
      case TypedKind::kNone:
        break;
    }
    const Object& object = *value.get_ptr<const Object*>();
    bson_iter_t found;
    if (const auto rare = MayBeRare(object) ? ParseRare(value) : std::nullopt) {
      FindField(*rare->get(), "v", found);
      return Check(bson_append_iter(doc_, name_, size_, &found));
    }
    bson_t inner;
    Check(bson_append_document_begin(doc_, name_, size_, &inner));
    for (const auto& [name, member] : object) Append(inner, name, member);
    Check(bson_append_document_end(doc_, &inner));
  }

  void AddDate(const std::string& text) const {
    std::int64_t time = 0;
    std::from_chars(text.data(), text.data() + text.size(), time);
    Check(bson_append_date_time(doc_, name_, size_, time));
  }

  void AddBinary(const json& content) const {
    auto bytes = *detail::DecodeBase64(TextIn(content, "base64"));
    const auto size = static_cast<std::uint32_t>(bytes.size());
    bytes.push_back(0);  // libbson takes no null pointer
    const std::string& text = TextIn(content, "subType");
    std::uint8_t subtype = 0;
    std::from_chars(text.data(), text.data() + text.size(), subtype, 16);
    Check(bson_append_binary(doc_, name_, size_, static_cast<bson_subtype_t>(subtype), bytes.data(),
                             size));
  }

  bson_t* const doc_;
  const char* const name_;
  const int size_;
};

void Append(bson_t& doc, std::string_view name, const json& value) {
  if (name.find('\0') != name.npos) Refuse("a field's name holds NUL");
  if (!detail::IsUtf8(name)) Refuse("a field's name is not valid UTF-8");
  Element(doc, name).Add(value);
}

}  // namespace

const json& TreeForBson(const Body& body) {
  const detail::ExactJson& exact = detail::BodyAccess::Exact(body);
  if (exact.literals.is_null()) return exact.tree;
  detail::ForEachValue(
      exact, [](const detail::Place& place, const json& value, const json& literal) {
        if (!literal.is_string()) return;
        const auto meant = detail::NumberParts::Of(literal.get_ref<const std::string&>());
        const auto kept = detail::NumberParts::Of(value.dump());
        if (meant && kept && meant->IsSameValue(*kept)) return;
        throw DocumentException("the body cannot be put into BSON with all digits: the number " +
                                detail::QuotedName(place.Path()) +
                                " is neither a double nor a 64-bit integer; write it as "
                                R"({"$numberDecimal":"..."})");
      });
  return exact.tree;
}

void AppendValue(Doc& doc, std::string_view name, const json& value) {
  Append(*doc.get(), name, value);
}

void AppendMembers(Doc& doc, const json& body) {
  const auto* const members = body.get_ptr<const Object*>();
  if (members == nullptr) throw DocumentException("the body is not a JSON object");
  for (const auto& [name, value] : *members) Append(*doc.get(), name, value);
}

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 9> kRareNames{
    "$numberDouble", "$code",   "$symbol",    "$regularExpression", "$timestamp",
    "$minKey",       "$maxKey", "$undefined", "$dbPointer"};

/// Finite doubles are JSON's own type, and would come back as such.
bool IsRare(const bson_iter_t& value) {
  if (BSON_ITER_HOLDS_DOUBLE(&value)) return !std::isfinite(bson_iter_double(&value));
  return !BSON_ITER_HOLDS_DOCUMENT(&value);
}

}  // namespace

bool MayBeRare(const json::object_t& object) noexcept {
  if (object.empty() || object.size() > 2) return false;
  const std::string& name = object.begin()->first;
  if (name.empty() || name.front() != '$') return false;
  return std::find(kRareNames.begin(), kRareNames.end(), name) != kRareNames.end();
}

std::optional<Doc> ParseRare(const json& object) {
  json wrapped = json::object();
  wrapped["v"] = object;
  const std::string text = wrapped.dump();
  const platform::PlainNumbers plain;
  bson_error_t error;
  bson_t* const parsed = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                            static_cast<ssize_t>(text.size()), &error);
  if (parsed == nullptr) return std::nullopt;
  const OwnedBson owner(parsed);
  bson_iter_t iter;
  // libbson accepts older forms too, which would come back in another form.
  if (!bson_iter_init_find(&iter, parsed, "v") || !IsRare(iter) ||
      !detail::IsSameJson(ReadRare(iter), object)) {
    return std::nullopt;
  }
  return Doc::Of("v", *bson_iter_value(&iter));
}

json ReadRare(const bson_iter_t& value) {
  Doc wrapped;
  wrapped.Add("v", *bson_iter_value(const_cast<bson_iter_t*>(&value)));
  std::size_t size = 0;
  const platform::PlainNumbers plain;
  const std::unique_ptr<char, decltype(&bson_free)> text(
      bson_as_canonical_extended_json(wrapped.get(), &size), &bson_free);
  // libbson and nlohmann differ in what they accept as UTF-8. Like any other text that is none, it
  // must not be written.
  const json parsed = text ? json::parse(text.get(), text.get() + size, nullptr, false)
                           : json(json::value_t::discarded);
  return parsed.is_discarded() ? json("\xFF") : parsed.at("v");
}

}  // namespace doclock::mongodb
