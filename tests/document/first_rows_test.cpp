#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "document/json/row_filter.h"

namespace doclock {
namespace {

QueryRow Row(const std::string& key) { return {Key(key), Body::FromText("{}"), 1, {}, false}; }

/// The keys that are shown, and after each scan whether "c" had still room.
struct Visited {
  std::vector<std::string> keys;
  std::vector<bool> had_room;
};

Visited Visit(const Filter& filter, std::size_t most) {
  Visited visited;
  const auto scan = [&](FirstRows& rows) {
    for (const char* key : {"a", "b"}) rows.Show(Row(key));
    visited.had_room.push_back(rows.Admits({Key("c"), nullptr}));
    rows.Show(Row("c"));
  };
  VisitInOrder(filter, most, scan, [&](QueryRow&& row) {
    visited.keys.push_back(row.key.ToString());
    return true;
  });
  return visited;
}

TEST(VisitInOrder, KeepsNoMoreThanTheLimit) {
  const Visited visited = Visit(Filter().Limit(2), 100);
  EXPECT_EQ(visited.keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(visited.had_room, std::vector<bool>{false});
}

TEST(VisitInOrder, ScansAgainForWhatHadNoRoom) {
  const Visited visited = Visit(Filter().Limit(3), 2);
  EXPECT_EQ(visited.keys, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(visited.had_room, (std::vector<bool>{false, true}));
}

TEST(VisitInOrder, KeepsAllWithoutALimit) {
  EXPECT_EQ(Visit(Filter(), 100).had_room, std::vector<bool>{true});
}

TEST(EqualKey, IsNothingForAValueThatIsNoKey) {
  using nlohmann::json;
  const std::vector<json> no_keys = {1.0,
                                     true,
                                     nullptr,
                                     std::string(kMaxKeyBytes + 1, 'x'),
                                     std::uint64_t{1} << 63,
                                     {{"$binary", {{"base64", "AAAA"}, {"subType", "04"}}}},
                                     {{"$binary", {{"base64", "AAAA"}, {"subType", "00"}}}}};
  for (const json& value : no_keys) {
    EXPECT_EQ(EqualKey(Filter().Equal("_id", value)), std::nullopt) << value;
  }
  EXPECT_EQ(EqualKey(Filter().Equal("_id", "a")), Key("a"));
}

}  // namespace
}  // namespace doclock
