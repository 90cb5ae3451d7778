#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "doclock/filter.h"
#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "doclock/time.h"

namespace doclock {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

TEST(Date, IsCanonicalExtendedJson) {
  const Date date(Date::TimePoint(1'700'000'000'123ms));
  EXPECT_EQ(Json(date).dump(), R"({"$date":{"$numberLong":"1700000000123"}})");
  EXPECT_EQ(Json(date).get<Date>(), date);
  EXPECT_EQ(Json(Date(Date::TimePoint(-1ms))).get<Date>().time(), Date::TimePoint(-1ms));
  const Date first{Date::TimePoint(std::chrono::milliseconds::min())};
  EXPECT_EQ(Json(first).get<Date>(), first);
}

TEST(Date, ConvertsFromAndToTheStandardLibrary) {
  const std::chrono::sys_time<std::chrono::microseconds> fine(-1500us);
  EXPECT_EQ(Date(fine).time().time_since_epoch(), -2ms);  // towards the past
  const Date::TimePoint time = Date(std::chrono::sys_days{std::chrono::year{2026} / 11 / 21});
  EXPECT_EQ(std::chrono::floor<std::chrono::days>(time),
            std::chrono::sys_days{std::chrono::year{2026} / 11 / 21});
  EXPECT_LT(Date(), Date::Now());
}

TEST(Date, RefusesWhatIsNone) {
  for (const char* text :
       {"1", R"("2020-01-01")", R"({"$date":5})", R"({"$date":{"$numberLong":"x"}})",
        R"({"$date":{"$numberLong":""}})", R"({"$date":{"$numberLong":"-0"}})",
        R"({"$date":{"$numberLong":"9223372036854775808"}})"}) {
    EXPECT_THROW(Json::parse(text).get<Date>(), std::invalid_argument) << text;
  }
}

TEST(Binary, IsCanonicalExtendedJson) {
  EXPECT_EQ(Json(Binary{{0, 1, 2, 255}, 128}).dump(),
            R"({"$binary":{"base64":"AAEC/w==","subType":"80"}})");
  for (std::uint8_t length = 0; length < 10; ++length) {
    const Binary binary{std::vector<std::uint8_t>(length, static_cast<std::uint8_t>(250 + length)),
                        5};
    EXPECT_EQ(Json(binary).get<Binary>(), binary);
  }
  const Uuid id = NewUuid();
  EXPECT_EQ(Json(Binary::FromUuid(id)).get<Binary>().ToUuid(), id);
}

TEST(Binary, RefusesWhatIsNone) {
  for (const char* text :
       {R"("AAEC")", R"({"$binary":"AAEC"})", R"({"$binary":{"base64":"AAE","subType":"00"}})",
        R"({"$binary":{"base64":"A===","subType":"00"}})",
        R"({"$binary":{"base64":"====","subType":"00"}})",
        R"({"$binary":{"base64":"AB==","subType":"00"}})",
        R"({"$binary":{"base64":"AA=A","subType":"00"}})",
        R"({"$binary":{"base64":"AAEC","subType":"0"}})", R"({"$binary":{"base64":"AAEC"}})"}) {
    EXPECT_THROW(Json::parse(text).get<Binary>(), std::invalid_argument) << text;
  }
  EXPECT_THROW(static_cast<void>(Binary{{1}, 4}.ToUuid()), std::invalid_argument);
}

TEST(Decimal128, PrintsAsTheSpecificationSays) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"-0", "-0"},
      {"0.00", "0.00"},
      {"0E+3", "0E+3"},
      {"12.50", "12.50"},
      {"+1", "1"},
      {"007", "7"},
      {".5", "0.5"},
      {"5.", "5"},
      {"1E3", "1E+3"},
      {"1000E-3", "1.000"},
      {"1e-7", "1E-7"},
      {"0.000001", "0.000001"},
      {"0.0000001", "1E-7"},
      {"12E-8", "1.2E-7"},
      {"inf", "Infinity"},
      {"-Infinity", "-Infinity"},
      {"NaN", "NaN"},
      {"1E6112", "1.0E+6112"},
      {"1234567890123456789012345678901234", "1234567890123456789012345678901234"},
      {"12345678901234567890123456789012340", "1.234567890123456789012345678901234E+34"}};
  for (const auto& [text, printed] : cases) {
    EXPECT_EQ(Decimal128(text).ToString(), printed) << text;
    EXPECT_EQ(Json(Decimal128(text)).get<Decimal128>().ToString(), printed);
  }
}

TEST(Decimal128, RefusesWhatItCannotKeep) {
  for (const char* text :
       {"", "-", "abc", "1.2.3", "1E", "1E+-3", "--1", "1 ", " 1", "0x1", ".",
        "12345678901234567890123456789012345", "1E7000", "1E-6177", "1E99999999999", "1e5e5"}) {
    EXPECT_THROW(Decimal128{text}, std::invalid_argument) << text;
  }
}

TEST(Decimal128, ComparesByValue) {
  const char* const rising[] = {"NaN",      "-Infinity", "-1E+10",  "-2.5",    "-2.4",
                                "-1E-6176", "0",         "1E-6176", "0.1",     "0.10000001",
                                "9.5",      "10",        "1E+10",   "Infinity"};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      EXPECT_EQ(Decimal128(rising[i]) <=> Decimal128(rising[j]), i <=> j) << rising[i] << rising[j];
    }
  }
  EXPECT_EQ(Decimal128("10"), Decimal128("1E+1"));
  EXPECT_EQ(Decimal128("-0"), Decimal128("0.00"));
}

TEST(Decimal128, IsReadFromWholeNumbersToo) {
  EXPECT_EQ(Json(-7).get<Decimal128>().ToString(), "-7");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).get<Decimal128>().ToString(),
            "18446744073709551615");
  EXPECT_THROW(Json(0.1).get<Decimal128>(), std::invalid_argument);
}

TEST(ObjectIdJson, IsCanonicalExtendedJsonAndReadsText) {
  const ObjectId id{{1, 2, 3, 250}};
  EXPECT_EQ(Json(id).dump(), R"({"$oid":"010203fa0000000000000000"})");
  EXPECT_EQ(Json(id).get<ObjectId>(), id);
  EXPECT_EQ(Json("010203fa0000000000000000").get<ObjectId>(), id);
  EXPECT_THROW(Json(Json{{"$oid", "01"}}).get<ObjectId>(), std::invalid_argument);
}

TEST(Filter, TakesTypedValuesAndNoOtherObjects) {
  EXPECT_NO_THROW(Filter{}.Equal("a", Date()).Less("b", ObjectId{}).Greater("c", Binary{}));
  EXPECT_NO_THROW(Filter{}.AtMost("d", Decimal128("1")));
  for (const char* text : {R"({"$gt":1})", R"({"$date":1})", R"({"$regex":"a","$options":""})",
                           R"({"$regularExpression":{"pattern":"a","options":""}})"}) {
    EXPECT_THROW(Filter{}.Equal("a", Json::parse(text)), std::invalid_argument) << text;
  }
}

TEST(Filter, ComparesTypedValuesWithinTheirType) {
  const Date early(Date::TimePoint(9ms)), late(Date::TimePoint(10ms));
  EXPECT_TRUE(Filter{}.Less("due", late).Matches({{"due", early}}));
  EXPECT_FALSE(Filter{}.Less("due", early).Matches({{"due", late}}));
  EXPECT_FALSE(Filter{}.Less("due", late).Matches({{"due", 5}}));
  EXPECT_FALSE(Filter{}.Less("due", late).Matches({{"due", ObjectId{}}}));
  EXPECT_FALSE(Filter{}.Less("due", late).Matches({{"due", Json::object()}}));
  EXPECT_TRUE(Filter{}.NotEqual("due", late).Matches({{"due", Json::object()}}));
}

}  // namespace
}  // namespace doclock
