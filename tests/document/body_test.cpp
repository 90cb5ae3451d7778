#include "doclock/document.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doclock/errors.h"

namespace doclock {
namespace {

using nlohmann::json;

TEST(Body, ThereMayBeNone) {
  const Body none;
  EXPECT_FALSE(none);
  EXPECT_THROW((void)none.json(), std::logic_error);
  EXPECT_THROW((void)none.text(), std::logic_error);
}

TEST(Body, MakesTheOtherFormWhenAsked) {
  EXPECT_EQ(Body::FromJson({{"a", 1}, {"b", {1, 2}}}).text(), R"({"a":1,"b":[1,2]})");
  EXPECT_EQ(Body::FromText(R"( {"a": 1} )").json(), json({{"a", 1}}));
}

TEST(Body, KeepsTheFormItCameInUntouched) {
  EXPECT_EQ(Body::FromText(R"( {"a": 1} )").text(), R"( {"a": 1} )");
}

TEST(Body, RefusesTextNestedTooDeepAndCountsNoBracketsInStrings) {
  const auto nested = [](int levels) {
    const auto arrays = static_cast<std::size_t>(levels - 1);
    return R"({"a":)" + std::string(arrays, '[') + std::string(arrays, ']') + "}";
  };
  EXPECT_NO_THROW((void)Body::FromText(nested(kMaxBodyDepth)).json());
  EXPECT_THROW((void)Body::FromText(nested(kMaxBodyDepth + 1)).json(), DocumentException);
  EXPECT_THROW((void)Body::FromText(nested(1'000'000)).json(), DocumentException);
  const std::string brackets = R"(\"\\\")" + std::string(1000, '[') + R"(\\)";
  const Body quoted = Body::FromText(R"({"a":")" + brackets + R"(","[{[{":{},"b":[[]]})");
  EXPECT_EQ(quoted.json().at("a"), R"("\")" + std::string(1000, '[') + "\\");
  EXPECT_EQ(quoted.json().at("b"), json::array({json::array()}));
}

/// `tree`, over what is stored.
std::string Over(const std::string& stored, const json& tree) {
  return Body::FromJson(tree, Body::FromText(stored)).text();
}

TEST(Body, KeepsTheDigitsOfNumbersThatStay) {
  for (const std::string number :
       {"12345678901234567.89", "18446744073709551617", "18446744073709551615", "1.50",
        "0.12345678901234567890123", "1e400", "-1e-400", "-0", "0e000", "1E+2",
        "-9223372036854775809"}) {
    const std::string stored = R"({"a":)" + number + R"(,"b":[1,)" + number + R"(,{"c":)" + number +
                               R"(}],"d":{"e":)" + number + "}}";
    json tree = Body::FromText(stored).json();
    EXPECT_EQ(Over(stored, tree), stored);
    tree["new"] = 1;
    EXPECT_EQ(Over(stored, tree), stored.substr(0, stored.size() - 1) + R"(,"new":1})");
    tree = {{"d", {{"e", tree["d"]["e"]}, {"f", 1.5}}}};
    EXPECT_EQ(Over(stored, tree), R"({"d":{"e":)" + number + R"(,"f":1.5}})");
  }
  const std::string long_number = std::string(5000, '7') + "." + std::string(5000, '3');
  const std::string stored = R"({"a":)" + long_number + "}";
  EXPECT_EQ(Over(stored, Body::FromText(stored).json()), stored);
}

TEST(Body, WritesNumbersThatChangeAsTheyAre) {
  const std::string stored = R"({"a":1.50,"b":12345678901234567.89,"c":[1.50,2.50],"d":1e400})";
  EXPECT_EQ(Over(stored, {{"a", 1.25}}), R"({"a":1.25})");
  EXPECT_EQ(Over(stored, {{"a", "1.50"}}), R"({"a":"1.50"})");
  EXPECT_EQ(Over(stored, {{"x", 1.5}}), R"({"x":1.5})");
  EXPECT_EQ(Over(stored, {{"c", {2.5, 2.5}}}), R"({"c":[2.5,2.50]})");
  EXPECT_EQ(Over(stored, {{"c", {{"0", 1.5}}}}), R"({"c":{"0":1.5}})");
  EXPECT_EQ(Over(stored, {{"d", 1}}), R"({"d":1})");
  // T reads a whole number.
  EXPECT_EQ(Over(stored, {{"b", 12345678901234568}}), R"({"b":12345678901234567.89})");
  EXPECT_EQ(Over(stored, {{"b", 12345678901234569}}), R"({"b":12345678901234569})");
}

TEST(Body, HasInfinityForANumberBeyondTheRangeOfDouble) {
  const json tree = Body::FromText(R"({"a":[1e400,-1e400],"b":0e00,"c":1e-400})").json();
  EXPECT_EQ(tree.at("a")[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(tree.at("a")[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(tree.at("b"), 0.0);
  EXPECT_EQ(tree.at("c"), 0.0);
}

TEST(Body, HasTheLastOfTwoMembersOfOneName) {
  EXPECT_EQ(Body::FromText(R"({"a":1,"a":2})").json(), json({{"a", 2}}));
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"a":1.50,"a":1.5})", R"({"a":1.5})"},
      {R"({"a":1.5,"a":1.50})", R"({"a":1.50})"},
      {R"({"a":{"b":1.50},"a":{"b":1.5}})", R"({"a":{"b":1.5}})"},
      {R"({"a":[1.50],"a":{"b":2.50},"a":[3.50]})", R"({"a":[3.50]})"}};
  for (const auto& [stored, kept] : cases) {
    EXPECT_EQ(Over(stored, Body::FromText(stored).json()), kept);
  }
}

TEST(Body, ManyNumbersBeyondTheRangeAreReadAtOnce) {
  std::string stored = R"({"a":[1e400)";
  for (int i = 0; i < 100'000; ++i) stored += ",1e400";
  stored += "]}";
  EXPECT_EQ(Over(stored, Body::FromText(stored).json()), stored);
}

TEST(Body, CopiesShareTheForms) {
  const Body first = Body::FromText("{}");
  const Body second = first;
  EXPECT_EQ(&first.json(), &second.json());
  EXPECT_EQ(&first.text(), &second.text());
}

TEST(Body, NamesUnreadableTextWithoutQuotingIt) {
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, "{secret"s, "[1]"s, "null"s, "7"s, "{\"a\":1e999,}"s, "{\"a\":1.e999}"s,
        "{\"a\":01e999}"s, "{\"a\":[1e999-1]}"s, "{\"a\":\"\xff\"}"s, "{\"a\":1}\0"s,
        "{\"a\":1}\0{secret"s, "{\"a\":\"\0\"}"s}) {
    const Body body = Body::FromText(text);
    for (int again = 0; again < 2; ++again) {
      try {
        (void)body.json();
        FAIL() << text;
      } catch (const DocumentException& error) {
        EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
      }
    }
  }
}

TEST(Body, RefusesToPrintInvalidUtf8) {
  EXPECT_THROW((void)Body::FromJson({{"a", "\xff"}}).text(), DocumentException);
}

TEST(Body, ManyThreadsSeeOneForm) {
  for (int round = 0; round < 100; ++round) {
    const Body body = Body::FromText(R"({"a":[1,2,3],"b":"text"})");
    std::vector<const json*> seen(4);
    std::vector<std::thread> threads;
    for (auto& slot : seen) threads.emplace_back([&slot, body] { slot = &body.json(); });
    for (auto& thread : threads) thread.join();
    for (const json* tree : seen) {
      EXPECT_EQ(tree, seen.front());
      EXPECT_EQ(tree->at("b"), "text");
    }
  }
}

/// Literals deep within long names cost no more than others.
TEST(Body, LiteralsHaveTheirPlacesInNestedArraysAndObjects) {
  const std::string text =
      R"({"a":[[1.50,2,[{"b":2.50,"c":{"d":[3.50]}}]],1e400,{"e":-0}],"f":1.0,"g":18446744073709551617})";
  const Body body = Body::FromText(text);
  EXPECT_EQ(Body::FromJson(body.json(), body).text(), text);
  nlohmann::json changed = body.json();
  changed["a"].erase(0);
  EXPECT_EQ(Body::FromJson(changed, body).text().find("50"), std::string::npos)
      << "elements of an array that became shorter have no literals of others";
}

}  // namespace
}  // namespace doclock
