#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "mongodb/bson/bson.h"

namespace doclock::mongo_docs_test {

/// How often operator new was called in this program.
std::size_t AllocationCount() noexcept;

/// Documents of every type that BSON has, drawn by RapidCheck.
struct RandomBson {
  /// No int64 that fits into an int32, and no two fields of one name.
  bool plain_numbers = false;
  /// The top level's names may be what no body may have.
  bool hostile_names = false;

  mongodb::Doc Members(int depth = 0) {
    mongodb::Doc doc;
    const int count = *rc::gen::inRange(0, depth == 0 ? 12 : 4);
    std::vector<std::string> used;
    for (int i = 0; i < count; ++i) {
      std::string name = Name(depth);
      bool repeated = false;
      for (const std::string& other : used) repeated = repeated || other == name;
      // The server refuses no repeated name inside a document.
      if (repeated && (plain_numbers || depth == 0)) name += "_" + std::to_string(i);
      used.push_back(name);
      AddValue(doc, name, depth);
    }
    return doc;
  }

 private:
  std::string Name(int depth) {
    static const std::vector<std::string> kPlain{
        "a", "b", "Ünï", "with space", "Value", "quote\"d", "n0", "very_long_name_of_a_field"};
    static const std::vector<std::string> kHostile{"", "a.b", "$c", "$$ROOT", ".", "$where"};
    // Inside, names that Extended JSON gives a meaning are avoided: such an object is a value to
    // it.
    static const std::vector<std::string> kInside{"", "a.b", ".", "x$", "0", "1"};
    const bool strange = *rc::gen::inRange(0, 4) == 0;
    if (depth == 0) return *rc::gen::elementOf(hostile_names && strange ? kHostile : kPlain);
    return *rc::gen::elementOf(strange ? kInside : kPlain);
  }

  static std::string Text() {
    static const std::vector<std::string> kTexts{
        "", "text", "Grüße 🌍", std::string("nul\0inside", 10), "$where", "\"quoted\"\\\n", "a.b"};
    return *rc::gen::elementOf(kTexts);
  }

  static double Double() {
    static const std::vector<double> kDoubles{0.0,
                                              -0.0,
                                              1.0,
                                              -2.5,
                                              1.0 / 3,
                                              std::numeric_limits<double>::max(),
                                              std::numeric_limits<double>::denorm_min(),
                                              std::numeric_limits<double>::infinity(),
                                              -std::numeric_limits<double>::infinity(),
                                              std::numeric_limits<double>::quiet_NaN()};
    return *rc::gen::elementOf(kDoubles);
  }

  std::int64_t Long() const {
    static const std::vector<std::int64_t> kSmall{0, 1, -1, 5};
    static const std::vector<std::int64_t> kLarge{std::int64_t{1} << 53, INT64_MAX, INT64_MIN,
                                                  std::int64_t{INT32_MAX} + 1};
    return *rc::gen::elementOf(!plain_numbers && *rc::gen::arbitrary<bool>() ? kSmall : kLarge);
  }

  void AddValue(mongodb::Doc& doc, const std::string& name, int depth) {
    constexpr int kTypes = 20, kDeepest = 4;
    bson_t* const b = doc.get();
    const char* const key = name.data();
    const auto size = static_cast<int>(name.size());
    switch (*rc::gen::inRange(0, kTypes)) {
      case 0:
        doc.AddNull(name);
        break;
      case 1:
        doc.Add(name, *rc::gen::arbitrary<bool>());
        break;
      case 2:
        doc.Add(name, *rc::gen::arbitrary<int>());
        break;
      case 3:
        doc.Add(name, Long());
        break;
      case 4:
        doc.Add(name, Double());
        break;
      case 5:
        doc.Add(name, Text());
        break;
      case 6:
        bson_append_date_time(b, key, size, *rc::gen::arbitrary<std::int64_t>());
        break;
      case 7: {
        const auto bytes =
            *rc::gen::container<std::vector<std::uint8_t>>(12, rc::gen::arbitrary<std::uint8_t>());
        bson_oid_t oid;
        bson_oid_init_from_data(&oid, bytes.data());
        bson_append_oid(b, key, size, &oid);
        break;
      }
      case 8:
        AddBinary(doc, name);
        break;
      case 9: {
        static const std::vector<std::string> kDecimals{"0",
                                                        "-0",
                                                        "1.0",
                                                        "1.00",
                                                        "12.50",
                                                        "NaN",
                                                        "Infinity",
                                                        "1E+6111",
                                                        "-1E-6176",
                                                        "18446744073709551615",
                                                        "9999999999999999999999999999999999"};
        bson_decimal128_t decimal;
        bson_decimal128_from_string((*rc::gen::elementOf(kDecimals)).c_str(), &decimal);
        bson_append_decimal128(b, key, size, &decimal);
        break;
      }
      case 10:
        bson_append_regex_w_len(b, key, size, "^a.*", 4,
                                *rc::gen::elementOf(std::vector<const char*>{"", "i", "imsx"}));
        break;
      case 11:
        bson_append_timestamp(b, key, size, *rc::gen::arbitrary<std::uint32_t>(),
                              *rc::gen::arbitrary<std::uint32_t>());
        break;
      case 12:
        bson_append_minkey(b, key, size);
        break;
      case 13:
        bson_append_maxkey(b, key, size);
        break;
      case 14:
        bson_append_code(b, key, size, "return 1");
        break;
      case 15:
        bson_append_code_with_scope(b, key, size, "f", mongodb::Doc::Of("x", 1).get());
        break;
      case 16:
        bson_append_symbol(b, key, size, "sym", 3);
        break;
      case 17: {
        bson_oid_t oid;
        bson_oid_init_from_string(&oid, "010203040506070809101112");
        bson_append_dbpointer(b, key, size, "db.collection", &oid);
        break;
      }
      case 18:
        if (depth < kDeepest) doc.Add(name, Members(depth + 1));
        break;
      default: {
        if (depth >= kDeepest) break;
        mongodb::Doc values;
        const int count = *rc::gen::inRange(0, 4);
        for (int i = 0; i < count; ++i) AddValue(values, std::to_string(i), depth + 1);
        doc.AddArray(name, values);
      }
    }
  }

  static void AddBinary(mongodb::Doc& doc, const std::string& name) {
    const auto bytes =
        *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
    static const std::vector<int> kSubtypes{0, 1, 2, 3, 4, 5, 128, 255};
    bson_append_binary(doc.get(), name.data(), static_cast<int>(name.size()),
                       static_cast<bson_subtype_t>(*rc::gen::elementOf(kSubtypes)), bytes.data(),
                       static_cast<std::uint32_t>(bytes.size()));
  }
};

}  // namespace doclock::mongo_docs_test
