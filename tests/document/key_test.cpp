#include "doclock/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace doclock {
namespace {

static_assert(!std::is_constructible_v<Key, std::nullptr_t>);
static_assert(!std::is_constructible_v<Key, bool>);
static_assert(!std::is_constructible_v<Key, char>);
static_assert(std::is_nothrow_move_constructible_v<Key>);

const Uuid kUuid = boost::uuids::string_generator{}("0b8f2f0e-4a5c-4a43-9a0f-0a8d3c1b2e4f");

TEST(Key, KeysOfDifferentTypesDiffer) {
  const ObjectId oid{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255}};
  const std::vector<Key> keys = {"42", 42, kUuid, oid, boost::uuids::to_string(kUuid), "", "0", 0};
  std::unordered_set<std::size_t> hashes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j) EXPECT_EQ(keys[i] == keys[j], i == j);
    hashes.insert(keys[i].Hash());
  }
  EXPECT_EQ(hashes.size(), keys.size());
}

/// Processes of other builds, compilers and languages are told hashes.
TEST(Key, HashesAreFixed) {
  if (sizeof(std::size_t) < 8) GTEST_SKIP() << "hashes are cut off";
  const Uuid id{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  const std::pair<Key, std::uint64_t> all[] = {
      {"", 0x9ca066f1a4ab2eea},
      {"42", 0x51044779019ced7f},
      {"order-4711", 0xc48ad7b7e551cb36},
      {42, 0x077fb59b63a77004},
      {-1, 0x45e66a6e12c4c3f4},
      {id, 0xc1d2ad933068ca58},
      {ObjectId{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, 0x4bca47796360947e}};
  for (const auto& [key, hash] : all) EXPECT_EQ(key.Hash(), hash) << key.ToString();
}

TEST(Key, PrintsForPeople) {
  EXPECT_EQ(Key("order/42").ToString(), "order/42");
  EXPECT_EQ(Key("Größe 😀").ToString(), "Größe 😀");
  EXPECT_EQ(Key(std::string("a\nb\0\x7f\xc2\x85", 7)).ToString(), "a\\x0ab\\x00\\x7f\\xc2\\x85");
  EXPECT_EQ(Key("a\xe2\x80\xae-\xef\xbb\xbf").ToString(), "a\\xe2\\x80\\xae-\\xef\\xbb\\xbf");
  EXPECT_EQ(Key(-7).ToString(), "-7");
  EXPECT_EQ(Key(kUuid).ToString(), "0b8f2f0e-4a5c-4a43-9a0f-0a8d3c1b2e4f");
  EXPECT_EQ(Key(ObjectId{{0xab, 1}}).ToString(), "ab0100000000000000000000");
}

TEST(Key, RefusesWhatIsNotUtf8) {
  for (const char* good :
       {"", "plain ASCII, longer than a word", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_NO_THROW(Key{good}) << good;
  }
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "eight ok\xff",
        "\xe2\x28\xa1", "12345678\xc2"}) {
    EXPECT_THROW(Key{bad}, std::invalid_argument) << bad;
  }
}

TEST(Key, RefusesWhatIsTooLong) {
  EXPECT_NO_THROW(Key(std::string(kMaxKeyBytes, 'x')));
  EXPECT_THROW(Key(std::string(kMaxKeyBytes + 1, 'x')), std::invalid_argument);
}

TEST(Key, TakesEveryIntegerThatFits) {
  EXPECT_EQ(Key(std::int8_t{-1}), Key(std::int64_t{-1}));
  EXPECT_EQ(Key(std::uint32_t{4000000000U}), Key(std::int64_t{4000000000}));
  EXPECT_EQ(Key(std::uint64_t{INT64_MAX}), Key(INT64_MAX));
  EXPECT_THROW(Key(std::uint64_t{INT64_MAX} + 1), std::invalid_argument);
}

TEST(Key, OrdersByTypeThenByValue) {
  std::vector<Key> keys = {kUuid, 10, "b", -3, "a", "", "\xc2\x80", 2};
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<Key>{"", "a", "b", "\xc2\x80", -3, 2, 10, kUuid}));
}

TEST(Key, HashSpreadsSmallIntegers) {
  std::unordered_set<std::size_t> low_bits;
  for (int i = 0; i < 64; ++i) low_bits.insert(Key(i * 64).Hash() % 64);
  EXPECT_GT(low_bits.size(), 20U);
}

}  // namespace
}  // namespace doclock
