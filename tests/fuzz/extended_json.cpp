// Date, Binary, ObjectId and Decimal128 in Extended JSON: kinds are told apart by the exact form
// alone, values survive being read and written, and comparisons are an order.
//
// Up to three lines of JSON, each of which is taken for the text of a number and for base64 as
// well.

#include <boost/uuid/uuid.hpp>
#include <optional>
#include <stdexcept>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/filter.h"
#include "doclock/json/bson.h"
#include "doclock/time.h"
#include "document/json/same_json.h"
#include "document/json/typed_value.h"
#include "document/values/base64.h"
#include "document/values/decimal_text.h"
#include "fuzz/support/fuzz.h"
#ifdef DOCLOCK_WITH_MONGODB
#include <bson/bson.h>
#endif

namespace doclock::fuzz {
namespace {

using detail::TypedKind;
using nlohmann::json;

/// Nothing if it is no such value.
template <class T>
std::optional<T> ReadAs(const json& value) {
  try {
    return value.get<T>();
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

template <class T>
void CheckType(const json& value, TypedKind kind) {
  const std::optional<T> read = ReadAs<T>(value);
  const bool is_such = detail::KindOf(value) == kind;
  const bool whole = kind == TypedKind::kDecimal && value.is_number_integer();
  Require(read.has_value() == (is_such || whole), "the kind and the conversion agree");
  if (!is_such) return;
  Require(detail::IsSameJson(json(*read), value), "a value is written as it was read");
  Require(CompareValues(value, json(*read)) == 0, "a value equals itself");
}

#ifdef DOCLOCK_WITH_MONGODB
/// What libbson makes of the text; nothing if it refuses it.
std::optional<std::string> ByLibbson(const std::string& text) {
  bson_decimal128_t decimal;
  if (!bson_decimal128_from_string(text.c_str(), &decimal)) return std::nullopt;
  char printed[BSON_DECIMAL128_STRING];
  bson_decimal128_to_string(&decimal, printed);
  return printed;
}

/// libbson is the reference for decimals. It refuses some numbers with many zeros at their end.
void CheckAgainstLibbson(const std::string& text, const std::string& printed) {
  Require(ByLibbson(printed) == printed, "libbson reads and prints the number in the same way");
  Require(ByLibbson(text).value_or(printed) == printed, "libbson takes it for the same number");
}
#endif

void TryDecimal(const std::string& text) {
  const auto parts = detail::ParseDecimal(text);
  if (!parts) return;
  const std::string printed = detail::PrintDecimal(*parts);
  const auto again = detail::ParseDecimal(printed);
  Require(again.has_value(), "a printed number can be read");
  Require(detail::PrintDecimal(*again) == printed, "a printed number is printed the same");
  Require(detail::CompareDecimals(*parts, *again) == 0, "a printed number is the same number");
  if (const auto whole = detail::WholeNumber(*parts)) {
    const auto plain = detail::ParseDecimal(std::to_string(*whole));
    Require(plain && detail::CompareDecimals(*parts, *plain) == 0, "a whole number is itself");
  }
#ifdef DOCLOCK_WITH_MONGODB
  if (text.find('\0') == text.npos) CheckAgainstLibbson(text, printed);
#endif
}

void TryBase64(const std::string& text) {
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  const std::string encoded = detail::EncodeBase64(bytes);
  Require(detail::DecodeBase64(encoded) == bytes, "bytes survive base64");
  const auto decoded = detail::DecodeBase64(text);
  Require(decoded.has_value() == detail::IsBase64(text), "only base64 is decoded");
  if (decoded) Require(detail::EncodeBase64(*decoded) == text, "base64 has one form");
}

std::optional<json> ReadJson(const std::string& text) {
  try {
    return Body::FromText("{\"v\":" + text + "}").json().at("v");
  } catch (const DocumentException&) {
    return std::nullopt;
  }
}

void TryValue(const json& value) {
  CheckType<Date>(value, TypedKind::kDate);
  CheckType<Binary>(value, TypedKind::kBinary);
  CheckType<Decimal128>(value, TypedKind::kDecimal);
}

int Sign(int number) { return number < 0 ? -1 : (number > 0 ? 1 : 0); }

void TryOrder(const std::vector<json>& values) {
  for (const json& a : values) {
    Require(CompareValues(a, a) == 0, "a value equals itself");
    for (const json& b : values) {
      const int order = Sign(CompareValues(a, b));
      Require(order == -Sign(CompareValues(b, a)), "an order can be turned round");
      for (const json& c : values) {
        const bool chain = order <= 0 && CompareValues(b, c) <= 0;
        Require(!chain || CompareValues(a, c) <= 0, "an order is transitive");
      }
    }
  }
}

void Try(std::string_view text) {
  std::vector<json> values;
  for (const std::string& line : LinesOf(text, 3)) {
    TryDecimal(line);
    TryBase64(line);
    if (auto value = ReadJson(line)) values.push_back(std::move(*value));
  }
  for (const json& value : values) TryValue(value);
  TryOrder(values);
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size <= kLongestInput) Try(TextOf(data, size));
  return 0;
}
