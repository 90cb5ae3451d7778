#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongo_docs_test {

/// Appends a value under a name.
using OddValue = std::function<void(mongodb::Doc&, std::string_view name)>;

inline OddValue OddBinary(bson_subtype_t subtype, std::string bytes) {
  return [=](mongodb::Doc& doc, std::string_view name) {
    bson_append_binary(doc.get(), name.data(), static_cast<int>(name.size()), subtype,
                       reinterpret_cast<const std::uint8_t*>(bytes.data()),
                       static_cast<std::uint32_t>(bytes.size()));
  };
}
inline OddValue OddDate(std::int64_t ms) {
  return [=](mongodb::Doc& doc, std::string_view name) {
    bson_append_date_time(doc.get(), name.data(), static_cast<int>(name.size()), ms);
  };
}
inline OddValue OddDecimal(std::string text) {
  return [=](mongodb::Doc& doc, std::string_view name) {
    bson_decimal128_t decimal;
    bson_decimal128_from_string(text.c_str(), &decimal);
    bson_append_decimal128(doc.get(), name.data(), static_cast<int>(name.size()), &decimal);
  };
}
template <class T>
OddValue Odd(T value) {
  return [=](mongodb::Doc& doc, std::string_view name) { doc.Add(name, value); };
}
/// A function of libbson's that takes what follows the name.
template <class Append, class... Args>
OddValue OddBy(Append append, Args... args) {
  return [=](mongodb::Doc& doc, std::string_view name) {
    append(doc.get(), name.data(), static_cast<int>(name.size()), args...);
  };
}

/// Values of every type of BSON, the extremes among them.
inline std::vector<OddValue> OddValues() {
  const std::string uuid(16, '\1');
  static const mongodb::Doc code_scope = mongodb::Doc::Of("x", 1);
  static bson_oid_t oid{};
  mongodb::Array one_null, one_id, one_date;
  using Limits = std::numeric_limits<std::int64_t>;
  std::vector<OddValue> values{
      Odd(0),
      Odd(1),
      Odd(-1),
      Odd(std::int64_t{5}),
      Odd(Limits::max()),
      Odd(Limits::min()),
      Odd(std::int64_t{1} << 61),
      Odd(0.0),
      Odd(3.0),
      Odd(1.5),
      Odd(1e300),
      Odd(std::numeric_limits<double>::quiet_NaN()),
      Odd(true),
      Odd(false),
      Odd(std::string()),
      Odd(std::string("text")),
      Odd(std::string("$lockId")),
      Odd(std::string(1025, 'x')),
      Odd(std::string("\xed\xa0\x80")),
      Odd(std::string("a\xc0\x80")),
      Odd(std::string("\xff")),
      OddDecimal("5"),
      OddDecimal("NaN"),
      OddDecimal("1E+6111"),
      OddDate(0),
      OddDate(1000),
      OddDate(Limits::min()),
      OddDate(Limits::max()),
      OddDate(253402300799999),
      OddBinary(BSON_SUBTYPE_BINARY, uuid),
      OddBinary(BSON_SUBTYPE_BINARY_DEPRECATED, uuid),
      OddBinary(BSON_SUBTYPE_UUID_DEPRECATED, uuid),
      OddBinary(BSON_SUBTYPE_UUID, uuid),
      OddBinary(BSON_SUBTYPE_MD5, uuid),
      OddBinary(BSON_SUBTYPE_UUID, std::string(16, '\0')),
      OddBinary(BSON_SUBTYPE_UUID_DEPRECATED, std::string(16, '\0')),
      OddBinary(BSON_SUBTYPE_UUID, "short"),
      OddBinary(BSON_SUBTYPE_UUID, std::string(17, '\1')),
      Odd(kSharedLockId),
      OddBy(bson_append_null),
      OddBy(bson_append_undefined),
      OddBy(bson_append_minkey),
      OddBy(bson_append_maxkey),
      OddBy(bson_append_oid, &oid),
      OddBy(bson_append_timestamp, 5U, 6U),
      OddBy(bson_append_code, "return 1"),
      OddBy(bson_append_symbol, "sym", 3),
      OddBy(bson_append_dbpointer, "a.b", &oid),
      [](mongodb::Doc& doc, std::string_view name) {
        bson_append_regex_w_len(doc.get(), name.data(), static_cast<int>(name.size()), "^a", 2, "");
      },
      [](mongodb::Doc& doc, std::string_view name) {
        bson_append_code_with_scope(doc.get(), name.data(), static_cast<int>(name.size()), "f",
                                    code_scope.get());
      },
      [](mongodb::Doc& doc, std::string_view name) { doc.Add(name, mongodb::Doc()); },
      [](mongodb::Doc& doc, std::string_view name) { doc.Add(name, mongodb::Doc::Of("id", 1)); },
      [](mongodb::Doc& doc, std::string_view name) { doc.AddArray(name, mongodb::Doc()); }};
  // Arrays, which MongoDB's queries look into.
  for (const OddValue& element : {OddBy(bson_append_null), Odd(5), OddDate(1000),
                                  OddBinary(BSON_SUBTYPE_UUID, uuid), Odd(kSharedLockId)}) {
    values.push_back([element](mongodb::Doc& doc, std::string_view name) {
      mongodb::Doc inner;
      element(inner, "0");
      doc.AddArray(name, inner);
    });
  }
  return values;
}

}  // namespace doclock::mongo_docs_test
