#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "doclock/detail/engine.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

/// Why a body was refused; empty if it was not.
std::string Refusal(const json& body) {
  try {
    CheckBody(Body::FromJson(body), LockFieldNames{});
    return {};
  } catch (const DocumentException& error) {
    return error.what();
  }
}

json Nested(int levels, bool arrays) {
  json inner = arrays ? json::array() : json::object();
  for (int i = 1; i < levels; ++i) inner = arrays ? json::array({inner}) : json({{"x", inner}});
  return inner;
}

TEST(CheckBody, TakesWhatJsonCanSay) {
  EXPECT_EQ(Refusal(json::object()), "");
  EXPECT_EQ(Refusal({{"n", nullptr},
                     {"b", true},
                     {"i", -5},
                     {"u", 5U},
                     {"d", 0.5},
                     {"s", "Ä😀"},
                     {"a", {1, "x", {{"y", 2}}}},
                     {"o", {{"", 1}, {"a.b", 2}, {"$c", 3}, {"_id", 4}}},
                     {"id", 1},
                     {"nul in a value", std::string("\0", 1)}}),
            "");
}

TEST(CheckBody, RefusesByNameWhatIsNoObject) {
  EXPECT_NE(Refusal(json::array()).find("array"), std::string::npos);
  EXPECT_NE(Refusal(nullptr).find("null"), std::string::npos);
  EXPECT_NE(Refusal("text").find("string"), std::string::npos);
}

TEST(CheckBody, RefusesTopLevelNames) {
  EXPECT_NE(Refusal({{"", 1}}), "");
  EXPECT_NE(Refusal({{"$set", 1}}).find("$set"), std::string::npos);
  EXPECT_NE(Refusal({{"a.b", 1}}).find("a.b"), std::string::npos);
  EXPECT_NE(Refusal({{"_id", 1}}).find("_id"), std::string::npos);
  EXPECT_NE(Refusal({{std::string("a\0b", 3), 1}}).find("a\\x00b"), std::string::npos);
  for (const char* name : {"lockId", "lockTime", "lockTtl", "lockVersion", "lockBorn", "lockOwner",
                           "lockReleased", "lockClosed", "lockGroup", "lockReaders", "lockFence",
                           "lockQueue", "lockPassed", "lockExpected"}) {
    EXPECT_NE(Refusal({{name, 1}}).find(name), std::string::npos);
  }
}

TEST(CheckBody, RefusesValuesThatCannotBeStoredExactly) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const json& bad : {json(nan), json(infinity), json(-infinity), json::binary({1, 2}),
                          json("\xff"), json(std::uint64_t{INT64_MAX} + 1),
                          json({{std::string("\0", 1), 1}}), json({{"\xff", 1}})}) {
    EXPECT_NE(Refusal({{"field", bad}}).find("field"), std::string::npos);
    EXPECT_NE(Refusal({{"field", {1, {{"deep", bad}}}}}).find("field"), std::string::npos);
  }
  EXPECT_NE(Refusal({{"\xff", 1}}), "");
}

TEST(CheckBody, RefusesDepth) {
  for (const bool arrays : {false, true}) {
    EXPECT_EQ(Refusal({{"x", Nested(kMaxBodyDepth - 1, arrays)}}), "");
    EXPECT_NE(Refusal({{"x", Nested(kMaxBodyDepth, arrays)}}), "");
    EXPECT_NE(Refusal({{"x", Nested(10 * kMaxBodyDepth, arrays)}}), "");
  }
}

TEST(CheckBody, LeavesWhatOthersStored) {
  const json base = {{"text", "\xFF"},
                     {"deep", Nested(kMaxBodyDepth, true)},
                     {"n", UINT64_MAX},
                     {"o", {{std::string("a\0b", 3), 1}, {"c", "\xFF"}}},
                     {"mine", 1}};
  const auto refuses = [&](const char* name, const json& value) {
    json body = base;
    body[name] = value;
    try {
      CheckBody(Body::FromJson(body), LockFieldNames{}, Body::FromJson(base));
      return false;
    } catch (const DocumentException& error) {
      return std::string(error.what()).find(name) != std::string::npos;
    }
  };
  EXPECT_FALSE(refuses("mine", 2));
  EXPECT_TRUE(refuses("mine", "\xFF"));
  EXPECT_TRUE(refuses("text", "\xFF\xFF"));
  EXPECT_FALSE(refuses("o", {{"c", "\xFF"}})) << "it is as it was";
  EXPECT_TRUE(refuses("o", {{"c", "\xFF\xFF"}}));
  EXPECT_TRUE(refuses("$new", 1));
  json large = base;
  large["mine"] = std::string(kMaxBodyBytes, 'x');
  EXPECT_THROW(CheckBody(Body::FromJson(large), LockFieldNames{}, Body::FromJson(base)),
               DocumentException);
}

TEST(CheckBody, LeavesANumberWhereItIsStored) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Body base = Body::FromJson({{"o", {{"x", infinity}, {"n", UINT64_MAX}, {"mine", 1}}}});
  const auto check = [&](const json& body) {
    CheckBody(Body::FromJson(body), LockFieldNames{}, base);
  };
  EXPECT_NO_THROW(check({{"o", {{"x", infinity}, {"n", UINT64_MAX}, {"mine", 2}}}}));
  EXPECT_THROW(check({{"o", {{"y", infinity}}}}), DocumentException);
  EXPECT_THROW(check({{"o", {{"x", -infinity}}}}), DocumentException);
  EXPECT_NO_THROW(CheckBody(Body::FromText(R"({"o":[1e400,18446744073709551615]})"), {}));
}

TEST(CheckBody, NamesTheMemberByItsPath) {
  EXPECT_THAT(Refusal({{"a", {1, {{"b", "\xff"}}}}}), ::testing::HasSubstr("\"a[1].b\""));
}

TEST(CheckBody, MeasuresTheTextExactly) {
  // Escaped, so that the text is longer than the BSON.
  json body = {{"x", std::string((kMaxBodyBytes - 8) / 2, '"')}};
  ASSERT_EQ(body.dump().size(), kMaxBodyBytes);
  EXPECT_EQ(Refusal(body), "");
  body["x"].get_ref<std::string&>() += 'x';
  EXPECT_THAT(Refusal(body), ::testing::HasSubstr(std::to_string(kMaxBodyBytes)));
}

/// Else MongoDB would take the document and refuse the next write of its holder.
TEST(CheckBody, MeasuresTheBsonExactly) {
  json body = {{"list", json::array()}, {"x", ""}};
  auto& list = body["list"].get_ref<json::array_t&>();
  list.resize(1'200'000, 1);
  body["x"] = std::string(kMaxBodyBytes - json::to_bson(body).size(), 'x');
  ASSERT_EQ(json::to_bson(body).size(), kMaxBodyBytes);
  EXPECT_EQ(Refusal(body), "");
  body["x"].get_ref<std::string&>() += 'x';
  EXPECT_THAT(Refusal(body), ::testing::HasSubstr("as BSON"));
}

/// As JSON they are about as long as is allowed, and as BSON half of that.
TEST(CheckBody, MeasuresTypedValuesAsBsonKeepsThem) {
  const std::vector<json> values = {
      {{"$date", {{"$numberLong", "1700000000000"}}}},
      {{"$oid", std::string(24, 'a')}},
      {{"$numberDecimal", "123456789012345678901234.5"}},
      {{"$binary", {{"base64", std::string(40, 'A')}, {"subType", "00"}}}},
      {{"$binary", {{"base64", "AAAA"}, {"subType", "02"}}}}};
  json body = {{"list", json::array()}};
  auto& list = body["list"].get_ref<json::array_t&>();
  const std::size_t rounds = kMaxBodyBytes / (json(values).dump().size() + 1);
  list.reserve(rounds * values.size());
  for (std::size_t i = 0; i + 1 < rounds; ++i)
    list.insert(list.end(), values.begin(), values.end());
  EXPECT_EQ(Refusal(body), "");
}

TEST(CheckBody, DoesNotRepeatLongNamesInFull) {
  std::string name = "$";
  for (int i = 0; i < 1000; ++i) name += "é";
  const std::string refusal = Refusal({{name, 1}});
  EXPECT_LT(refusal.size(), 300U);
  EXPECT_NO_THROW((void)json(refusal).dump());
}

/// `stored` is in today's form.
json MergedOver(const json& stored, const json& written, json fresh) {
  return MergeBody({stored, stored, written}, std::move(fresh));
}

TEST(MergeBody, DropsOwnFieldsAndKeepsForeignOnes) {
  const json stored = {{"mine", 1}, {"foreign", 2}, {"gone", 0}};
  EXPECT_EQ(MergedOver(stored, {{"gone", 0}, {"mine", 1}}, {{"mine", 3}, {"new", 4}}),
            json({{"mine", 3}, {"foreign", 2}, {"new", 4}}));
}

TEST(MergeBody, FreshWinsOverAForeignFieldOfTheSameName) {
  EXPECT_EQ(MergedOver({{"x", 1}}, json::object(), {{"x", 2}}), json({{"x", 2}}));
}

TEST(MergeBody, KeepsForeignFieldsOfAnObjectThatStaysOne) {
  const json stored = {{"a", {{"mine", 1}, {"foreign", 2}, {"gone", 3}}}, {"t", {{"x", 1}}}};
  const json written = {{"a", {{"mine", 1}, {"gone", 3}}}, {"t", json::object()}};
  EXPECT_EQ(MergedOver(stored, written, {{"a", {{"mine", 9}}}, {"t", "text"}}),
            json({{"a", {{"mine", 9}, {"foreign", 2}}}, {"t", "text"}}));
}

TEST(MergeBody, ADateIsAValueAndNoObject) {
  const json date = {{"$date", {{"$numberLong", "1"}}}}, id = {{"$oid", std::string(24, 'a')}};
  EXPECT_EQ(MergedOver({{"a", date}}, json::object(), {{"a", id}}), json({{"a", id}}));
  EXPECT_FALSE(HoldsMore({{"a", date}}, {{"a", id}}));
}

TEST(MergeBody, AnArrayStaysUnlessItWasChanged) {
  const json stored = {{"v", {{{"mine", 1}, {"foreign", 2}}}}}, written = {{"v", {{{"mine", 1}}}}};
  EXPECT_EQ(MergedOver(stored, written, written), stored);
  const json changed = {{"v", {{{"mine", 1}}, {{"mine", 2}}}}};
  EXPECT_EQ(MergedOver(stored, written, changed), changed);
}

TEST(MergeBody, WhatAnUpgradeRemovedIsGone) {
  const json stored = {{"a", {{"old", 1}, {"foreign", 2}}}};
  const json upgraded = {{"a", {{"today", 1}, {"foreign", 2}}}};
  const json written = {{"a", {{"today", 1}}}};
  EXPECT_EQ(MergeBody({stored, upgraded, written}, written),
            json({{"a", {{"today", 1}, {"foreign", 2}}}}));
}

TEST(HoldsMore, LooksForMembersAtAnyDepth) {
  EXPECT_FALSE(HoldsMore({{"a", {{"b", 1}}}, {"v", {1, 2}}}, {{"a", {{"b", 2}}}, {"v", {3}}}));
  EXPECT_TRUE(HoldsMore({{"a", {{"b", 1}, {"c", 1}}}}, {{"a", {{"b", 1}}}}));
  EXPECT_TRUE(HoldsMore({{"a", 1}}, json::object()));
  EXPECT_TRUE(HoldsMore({{"v", {{{"c", 1}}}}}, {{"v", json::array({json::object()})}}));
}

}  // namespace
}  // namespace doclock::detail
