#include "doclock/body.h"

#include <gtest/gtest.h>

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

TEST(Body, CopiesShareTheForms) {
  const Body first = Body::FromText("{}");
  const Body second = first;
  EXPECT_EQ(&first.json(), &second.json());
  EXPECT_EQ(&first.text(), &second.text());
}

TEST(Body, NamesUnreadableTextWithoutQuotingIt) {
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, "{secret"s, "[1]"s, "null"s, "7"s, "{\"a\":1e999}"s, "{\"a\":\"\xff\"}"s,
        "{\"a\":1}\0"s, "{\"a\":1}\0{secret"s, "{\"a\":\"\0\"}"s}) {
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

}  // namespace
}  // namespace doclock
