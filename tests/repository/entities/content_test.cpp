/// Hostile keys and bodies come back exactly, or are refused by name.

#include <rapidcheck.h>

#include <functional>
#include <limits>

#include "repository/support/harness.h"

namespace doclock {
namespace {

class ContentTest : public RepositoryTest {
 protected:
  LockingRepository<json> raw{manager, "raw"};
};
DOCLOCK_FOR_ALL_STORES(ContentTest);

std::string Text() {
  static const std::vector<std::string> pieces = {
      "a",      "'",          "\"", "\\",   "%",    "_", ";",  "--",           "$",
      ".",      "{",          "\n", "\x01", "\x7f", "é", "😀", "\xe2\x80\xa8", std::string("\0", 1),
      "lockId", "{\"$gt\":0}"};
  std::string text;
  for (const auto& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces))) {
    text += piece;
  }
  return text;
}

json Scalar() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return nullptr;
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::arbitrary<std::int64_t>();
    case 3:
      return *rc::gen::element<double>(0.1, -0.0, 1e308, 5e-324, 1.0, -1e15, 0x1p53, 1e100);
    case 4:
      return *rc::gen::element<std::int64_t>(INT64_MIN, INT64_MAX, 9007199254740993);
    default:
      return Text();
  }
}

json Value(int depth) {
  if (depth == 0) return Scalar();
  json value;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      value = json::array();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) value.push_back(Value(depth - 1));
      return value;
    case 1:
      value = json::object();
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) value[Text()] = Value(depth - 1);
      return value;
    default:
      return Scalar();
  }
}

json AnyObject() {
  json object = json::object();
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) object[Text()] = Value(3);
  return object;
}

bool CanBeStored(const json& body) {
  try {
    detail::CheckBody(Body::FromJson(body), LockFieldNames{});
    return true;
  } catch (const DocumentException&) {
    return false;
  }
}

/// Exactly: 1 and 1.0 are different, and so are 0.0 and -0.0.
bool Same(const json& a, const json& b) { return a == b && a.dump() == b.dump(); }

TEST_P(ContentTest, AnyBodySurvivesLockAndRelease) {
  EXPECT_TRUE(rc::check([&] {
    const json first = AnyObject();
    const json second = AnyObject();
    const std::string key = Text();
    const bool storable = CanBeStored(first) && CanBeStored(second);
    RC_CLASSIFY(storable);
    try {
      auto handle = raw.Lock({key, first});
      if (handle.created()) RC_ASSERT(Same(*handle, first));
      *handle = second;
      handle.Release();
      RC_ASSERT(CanBeStored(second));
      RC_ASSERT(Same(**raw.Find(key), second));
      auto again = raw.Lock(key);
      RC_ASSERT(Same(*again, second));
      again.Erase();
    } catch (const DocumentException&) {
      RC_ASSERT(!storable);
    }
    clock->RunPending();
  }));
}

TEST_P(ContentTest, HostileKeysAreDifferentKeys) {
  const std::vector<std::string> keys = {"",
                                         " ",
                                         "a",
                                         "A",
                                         "ä",
                                         "a\xcc\x88",
                                         "'; DROP TABLE x; --",
                                         "\"",
                                         "\\",
                                         "$where",
                                         "..",
                                         "%",
                                         "_",
                                         "\n",
                                         std::string("\0", 1),
                                         "null",
                                         "{\"$gt\":0}",
                                         "a ",
                                         std::string(kMaxKeyBytes, 'k'),
                                         std::string("a\0b", 3)};
  for (std::size_t i = 0; i < keys.size(); ++i) raw.Insert(keys[i], {{"n", i}});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto handle = raw.Lock(keys[i]);
    EXPECT_EQ((*handle)["n"], i);
    EXPECT_EQ(handle.key(), Key(keys[i]));
    handle.Release();
  }
  EXPECT_EQ(raw.Find(Filter{}).size(), keys.size());
  for (const char* bad : {"\xff", "\xed\xa0\x80", "\xc0\x80"}) {
    EXPECT_THROW((void)raw.Lock(bad), std::invalid_argument);
  }
  EXPECT_THROW((void)raw.Lock(std::string(kMaxKeyBytes + 1, 'k')), std::invalid_argument);
}

TEST_P(ContentTest, WhatCannotBeStoredIsRefusedAndTheLockStaysHeld) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto handle = raw.Lock({"k", json{{"good", 1}}});
  for (const json& bad :
       {json{{"$set", 1}}, json{{"a.b", 1}}, json{{"", 1}}, json{{"_id", 1}}, json{{"lockId", 1}},
        json{{"x", nan}}, json{{"x", "\xff"}}, json{{"x", json::binary({1})}}, json::array({1}),
        json("text"), json(nullptr), json{{"x", std::uint64_t{1} << 63}}}) {
    EXPECT_THROW(raw.Insert("other", bad), DocumentException);
    EXPECT_THROW((void)raw.Lock({"other", bad}), DocumentException);
    *handle = bad;
    EXPECT_THROW(handle.Release(), DocumentException);
    EXPECT_TRUE(handle.held());
  }
  EXPECT_FALSE(raw.Find("other"));
  EXPECT_EQ(**raw.Find("k"), json({{"good", 1}}));
  *handle = {{"better", 2}};
  handle.Release();
  EXPECT_EQ(**raw.Find("k"), json({{"better", 2}}));
}

/// A body that has this many bytes as BSON, which is longer than its text.
json BodyOfBytes(std::size_t bytes) {
  const std::size_t wrapping = json::to_bson({{"text", ""}}).size();
  return {{"text", std::string(bytes - wrapping, 'x')}};
}

TEST_P(ContentTest, TheLargestBodySurvivesAndOneByteMoreLeavesTheLockHeld) {
  auto handle = raw.Lock({"k", json::object()});
  *handle = BodyOfBytes(kMaxBodyBytes);
  handle.Save();
  const std::string saved = (*handle)["text"].get<std::string>();
  const std::int64_t version = handle.version();
  (*handle)["text"].get_ref<std::string&>() += 'z';
  EXPECT_THROW(handle.Release(), DocumentException);
  EXPECT_TRUE(handle.held());
  const auto found = raw.Find("k");
  EXPECT_TRUE(found->locked());
  EXPECT_EQ(found->version(), version);
  EXPECT_TRUE((**found)["text"].get_ref<const std::string&>() == saved);
  *handle = json::object();
  handle.Release();
  EXPECT_EQ(**raw.Find("k"), json::object());
}

/// A body of this many levels.
std::string NestedText(int levels, bool arrays) {
  std::string text = R"({"in":)";
  for (int i = 2; i < levels; ++i) text += arrays ? "[" : R"({"in":)";
  text += "{}";
  for (int i = 2; i < levels; ++i) text += arrays ? "]" : "}";
  return text + "}";
}

TEST_P(ContentTest, TooDeepNestingIsRefusedByNameAndTheLockStaysHeld) {
  auto handle = raw.Lock({"k", json{{"good", 1}}});
  const auto expect_refused = [](const std::function<void()>& act) {
    try {
      act();
      ADD_FAILURE() << "taken";
    } catch (const DocumentException& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("nested deeper than 100 levels"));
      EXPECT_THAT(error.what(), ::testing::HasSubstr("raw"));
    }
  };
  for (const int levels : {kMaxBodyDepth + 1, 100'000}) {
    for (const bool arrays : {false, true}) {
      *handle = json::parse(NestedText(levels, arrays));
      expect_refused([&] { handle.Release(); });
      expect_refused([&] { handle.Save(); });
      expect_refused([&] { raw.Insert("other", *handle); });
      expect_refused([&] { (void)raw.Lock({"other", *handle}); });
      EXPECT_TRUE(handle.held());
    }
  }
  EXPECT_FALSE(raw.Find("other"));
  EXPECT_EQ(**raw.Find("k"), json({{"good", 1}}));
  *handle = json::parse(NestedText(kMaxBodyDepth, false));
  const json deepest = *handle;
  handle.Release();
  EXPECT_TRUE(**raw.Find("k") == deepest);
}

}  // namespace
}  // namespace doclock
