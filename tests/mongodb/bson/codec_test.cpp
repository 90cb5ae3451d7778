#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "doclock/errors.h"
#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "doclock/time.h"
#include "document/json/bson_size.h"
#include "document/json/same_json.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/support/random_bson.h"
#include "mongodb/support/raw_documents.h"

namespace doclock::mongo_docs_test {
namespace {

using nlohmann::json;

mongodb::Doc Encode(const json& body) {
  mongodb::Doc doc;
  mongodb::AppendMembers(doc, body);
  return doc;
}

json Decode(const bson_t& doc) { return mongodb::ReadBody(doc, LockFieldNames{}); }

/// The BSON of a body, checked by libbson.
std::string CanonicalOf(const json& body) {
  const mongodb::Doc doc = Encode(body);
  EXPECT_TRUE(bson_validate(doc.get(), BSON_VALIDATE_NONE, nullptr));
  return Canonical(*doc.get());
}

/// Bodies are measured where there is no libbson.
TEST(BodyCodec, WritesAsManyBytesAsBodiesAreMeasuredWith) {
  const json body{{"null", nullptr},
                  {"yes", true},
                  {"numbers", {0, -1, INT32_MAX, INT32_MIN, INT64_C(1) << 31, INT64_MIN, 1.5}},
                  {"unsigned", 7U},
                  {"text", "\xC3\xA4"},
                  {"list", json::array_t(101, json::object())},
                  {"", {{"deep", json::array({json::array()})}}},
                  {"date", Date(std::chrono::sys_time<std::chrono::milliseconds>{})},
                  {"id", {{"$oid", std::string(24, 'a')}}},
                  {"decimal", {{"$numberDecimal", "1.50"}}},
                  {"bytes", {{"$binary", {{"base64", "AAECAw=="}, {"subType", "00"}}}}},
                  {"old", {{"$binary", {{"base64", "AAECAw=="}, {"subType", "02"}}}}},
                  {"nearly", {{"$date", 1}}}};
  EXPECT_EQ(detail::BsonBytes(body), Encode(body).get()->len);
  const json rare{{"at", {{"$timestamp", {{"t", 1}, {"i", 2}}}}}};
  EXPECT_GE(detail::BsonBytes(rare), Encode(rare).get()->len);
}

/// The facade refuses such bodies; a program may call the store itself.
TEST(BodyCodec, WritesTheMembersOfABodyThatLooksLikeAValueOfAType) {
  // As bytes it takes three quarters of the room.
  const std::string text(80'000, 'A');
  const json body{{"$binary", {{"base64", text}, {"subType", "00"}}}};
  const auto doc = Encode(body);
  EXPECT_EQ(doc.get()->len, detail::kBsonFrame + detail::BsonBytes("$binary", body.at("$binary")));
  EXPECT_TRUE(bson_validate(doc.get(), BSON_VALIDATE_NONE, nullptr));
}

TEST(BodyCodec, WritesWhatLibbsonReadsAsTheSame) {
  const json body{{"null", nullptr},
                  {"yes", true},
                  {"int", 7},
                  {"long", std::int64_t{1} << 40},
                  {"double", 2.0},
                  {"text", "Grüße"},
                  {"list", {1, "two", {{"three", 3}}}},
                  {"empty", {{"list", json::array()}, {"object", json::object()}}},
                  {"date", Date(Date::TimePoint(std::chrono::milliseconds(-5)))},
                  {"oid", ObjectId{{1, 2}}},
                  {"bytes", Binary{{1, 2, 3}, 0}},
                  {"old", Binary{{1, 2, 3}, 2}},
                  {"price", Decimal128("12.50")}};
  EXPECT_EQ(json::parse(CanonicalOf(body)), json::parse(R"({
      "null": null, "yes": true, "int": {"$numberInt": "7"}, "long": {"$numberLong": "1099511627776"},
      "double": {"$numberDouble": "2.0"}, "text": "Grüße",
      "list": [{"$numberInt": "1"}, "two", {"three": {"$numberInt": "3"}}],
      "empty": {"list": [], "object": {}}, "date": {"$date": {"$numberLong": "-5"}},
      "oid": {"$oid": "010200000000000000000000"},
      "bytes": {"$binary": {"base64": "AQID", "subType": "00"}},
      "old": {"$binary": {"base64": "AQID", "subType": "02"}},
      "price": {"$numberDecimal": "12.50"}})"));
  EXPECT_EQ(Decode(*Encode(body).get()), body);
}

TEST(BodyCodec, KeepsEveryTypeThatBsonHas) {
  for (const char* text :
       {R"({"$numberDouble":"NaN"})", R"({"$numberDouble":"Infinity"})",
        R"({"$numberDouble":"-Infinity"})", R"({"$code":"return 1"})",
        R"({"$code":"f","$scope":{"a":{"$numberInt":"1"}}})", R"({"$symbol":"s"})",
        R"({"$regularExpression":{"pattern":"^a","options":"im"}})",
        R"({"$timestamp":{"t":5,"i":6}})", R"({"$minKey":1})", R"({"$maxKey":1})",
        R"({"$undefined":true})",
        R"({"$dbPointer":{"$ref":"db.c","$id":{"$oid":"010203040506070809101112"}}})"}) {
    const json body{{"v", json::parse(text)}};
    const mongodb::Doc doc = Encode(body);
    bson_iter_t iter;
    ASSERT_TRUE(bson_iter_init_find(&iter, doc.get(), "v"));
    EXPECT_FALSE(BSON_ITER_HOLDS_DOCUMENT(&iter)) << text;
    EXPECT_EQ(Decode(*doc.get()), body) << text;
  }
}

/// Other programs may store one.
TEST(BodyCodec, WritesNoRareValueWhoseTextIsNotUtf8) {
  bson_t doc = BSON_INITIALIZER;
  BSON_APPEND_REGEX(&doc, "v", "\xFF", "");
  const json body = Decode(doc);
  bson_destroy(&doc);
  EXPECT_THROW(Encode(body), DocumentException);
}

TEST(BodyCodec, LeavesObjectsThatOnlyLookTypedAsTheyAre) {
  for (const char* text :
       {R"({"$date":"2020-01-01T00:00:00Z"})", R"({"$numberInt":"1"})", R"({"$numberLong":"1"})",
        R"({"$regex":"a","$options":""})", R"({"$numberDouble":"1.5"})", R"({"$minKey":2})",
        R"({"$minKey":1.0})", R"({"$timestamp":{"t":-1,"i":0}})",
        R"({"$timestamp":{"t":5.0,"i":6}})", R"({"$where":"1"})", R"({"$ref":"a","$id":1})",
        R"({"$uuid":"00000000-0000-0000-0000-000000000000"})", R"({"$binary":"","$type":"00"})"}) {
    const json body{{"v", json::parse(text)}};
    const mongodb::Doc doc = Encode(body);
    bson_iter_t iter;
    ASSERT_TRUE(bson_iter_init_find(&iter, doc.get(), "v"));
    EXPECT_TRUE(BSON_ITER_HOLDS_DOCUMENT(&iter)) << text;
    EXPECT_TRUE(detail::IsSameJson(Decode(*doc.get()), body)) << text;
  }
}

TEST(BodyCodec, KeepsWholeNumbersAboveInt64AndPeoplesDecimalsApart) {
  const json body{{"number", std::numeric_limits<std::uint64_t>::max()},
                  {"above", (std::uint64_t{1} << 63)},
                  {"decimal", Decimal128("18446744073709551615")}};
  const json read = Decode(*Encode(body).get());
  EXPECT_EQ(read, body);
  EXPECT_TRUE(read["number"].is_number_unsigned());
}

TEST(BodyCodec, RefusesNamesWithNulAndBinaryJson) {
  EXPECT_THROW(Encode(json{{std::string("a\0b", 3), 1}}), DocumentException);
  EXPECT_THROW(Encode(json{{"x", {{std::string("\0", 1), 1}}}}), DocumentException);
  EXPECT_THROW(Encode(json{{"x", json::binary({1})}}), DocumentException);
  EXPECT_THROW(Encode(json::array()), DocumentException);
}

TEST(BodyCodec, ShowsNoFieldWhoseNameNoBodyMayHave) {
  mongodb::Doc doc;
  doc.Add("", 1).Add("a.b", 2).Add("$c", 3).Add("ok", 4).Add("ok", 5).Add("_id", 6);
  doc.Add("lockId", 7).Add("\xff", 8);
  EXPECT_EQ(Decode(*doc.get()), (json{{"ok", 4}}));
}

TEST(BodyCodec, AllocatesNothingOnTheWayOut) {
  json body{{"list", json::array()}};
  for (int i = 0; i < 2000; ++i) {
    body["list"].push_back({{"sku", "A-" + std::to_string(i)}, {"qty", i}, {"price", 1.5}});
  }
  mongodb::Doc doc;
  mongodb::AppendMembers(doc, body);
  const std::uint8_t* const memory = bson_get_data(doc.get());
  const std::uint32_t size = doc.get()->len;
  doc.Clear();
  const std::size_t before = AllocationCount();
  mongodb::AppendMembers(doc, body);
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_EQ(bson_get_data(doc.get()), memory);
  EXPECT_EQ(doc.get()->len, size);
}

TEST(BodyCodec, AppendsToWhatIsThere) {
  mongodb::Doc doc;
  doc.Add("first", 1);
  for (int i = 0; i < 100; ++i) mongodb::AppendValue(doc, "n" + std::to_string(i), i);
  mongodb::AppendMembers(doc, {{"z", "last"}});
  doc.Add("end", true);
  EXPECT_TRUE(bson_validate(doc.get(), BSON_VALIDATE_NONE, nullptr));
  EXPECT_EQ(bson_count_keys(doc.get()), 103U);
  mongodb::Doc moved(std::move(doc));
  EXPECT_EQ(Decode(*moved.get()).at("n99"), 99);
}

/// All but what JSON cannot tell apart: int64s that fit into an int32, and repeated names.
RC_GTEST_PROP(BodyCodec, BringsBackEveryBsonThatJsonCanTell, ()) {
  RandomBson random;
  random.plain_numbers = true;
  const mongodb::Doc doc = random.Members();
  const json body = Decode(*doc.get());
  const mongodb::Doc again = Encode(body);
  RC_ASSERT(bson_validate(again.get(), BSON_VALIDATE_NONE, nullptr));
  RC_ASSERT(json::parse(Canonical(*doc.get())) == json::parse(Canonical(*again.get())));
  RC_ASSERT(Decode(*again.get()) == body);
}

}  // namespace
}  // namespace doclock::mongo_docs_test
