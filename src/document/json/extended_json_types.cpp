/// Date, Binary and Decimal128 as JSON, and back.

#include <charconv>
#include <cstring>
#include <stdexcept>

#include "doclock/json/bson.h"
#include "doclock/json/value_error.h"
#include "doclock/time.h"
#include "document/json/typed_value.h"
#include "document/values/base64.h"
#include "document/values/decimal_text.h"
#include "document/values/refusing.h"

namespace doclock {
namespace {

using detail::TypedKind;
using nlohmann::json;

constexpr std::uint8_t kUuidSubtype = 4;
constexpr int kHexadecimal = 16;

void CheckKind(const json& value, TypedKind kind, const char* what) {
  if (detail::KindOf(value) != kind) {
    throw JsonValueError(value, std::string("doclock: the JSON value is not ") + what +
                                    " in canonical Extended JSON");
  }
}

detail::DecimalParts PartsOf(std::string_view text) {
  auto parts = detail::ParseDecimal(text);
  if (!parts) {
    throw std::invalid_argument(
        "doclock: not a decimal number of at most 34 digits and an exponent within decimal128");
  }
  return std::move(*parts);
}

}  // namespace

void to_json(json& out, const Date& date) {
  out = json::object();
  out["$date"]["$numberLong"] = std::to_string(date.time().time_since_epoch().count());
}

void from_json(const json& in, Date& date) {
  CheckKind(in, TypedKind::kDate, "a date");
  const auto& text = in.at("$date").at("$numberLong").get_ref<const std::string&>();
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  date = Date(Date::TimePoint(std::chrono::milliseconds(count)));
}

Binary Binary::FromUuid(const Uuid& id) {
  return {std::vector<std::uint8_t>(id.begin(), id.end()), kUuidSubtype};
}

Uuid Binary::ToUuid() const {
  Uuid id;
  if (subtype != kUuidSubtype || bytes.size() != id.size()) {
    throw std::invalid_argument("doclock: the binary is not a UUID (subtype 4, 16 bytes)");
  }
  std::memcpy(id.data, bytes.data(), id.size());
  return id;
}

std::strong_ordering operator<=>(const Binary& a, const Binary& b) noexcept {
  if (const auto order = a.bytes.size() <=> b.bytes.size(); order != 0) return order;
  if (const auto order = a.subtype <=> b.subtype; order != 0) return order;
  return a.bytes <=> b.bytes;
}

void to_json(json& out, const Binary& binary) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::string subtype{kDigits[binary.subtype / kHexadecimal],
                            kDigits[binary.subtype % kHexadecimal]};
  out = json::object();
  out["$binary"] = {{"base64", detail::EncodeBase64(binary.bytes)}, {"subType", subtype}};
}

void from_json(const json& in, Binary& binary) {
  CheckKind(in, TypedKind::kBinary, "binary data");
  const json& content = in.at("$binary");
  const auto& subtype = content.at("subType").get_ref<const std::string&>();
  binary.bytes = *detail::DecodeBase64(content.at("base64").get_ref<const std::string&>());
  std::from_chars(subtype.data(), subtype.data() + subtype.size(), binary.subtype, kHexadecimal);
}

Decimal128::Decimal128(std::string_view text) : text_(detail::PrintDecimal(PartsOf(text))) {}

Decimal128::Decimal128(std::int64_t number) : text_(std::to_string(number)) {}

std::weak_ordering operator<=>(const Decimal128& a, const Decimal128& b) noexcept {
  const int order =
      detail::CompareDecimals(*detail::ParseDecimal(a.text_), *detail::ParseDecimal(b.text_));
  return order <=> 0;
}

void to_json(json& out, const Decimal128& number) {
  out = json::object();
  out["$numberDecimal"] = number.ToString();
}

void from_json(const json& in, Decimal128& number) {
  if (in.is_number_integer()) {
    number = detail::Refusing(in, [&] { return Decimal128(in.dump()); });
    return;
  }
  CheckKind(in, TypedKind::kDecimal, "a decimal number");
  number = Decimal128(in.at("$numberDecimal").get_ref<const std::string&>());
}

}  // namespace doclock
