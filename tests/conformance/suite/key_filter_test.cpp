#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "doclock/locking_repository.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

using Keys = std::vector<Key>;

struct TextKeyed {
  std::string id;
  int n = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(TextKeyed, id, n)
};

struct Numbered {
  std::int64_t id = 0;
  int n = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Numbered, id, n)
};

struct Tagged {
  Uuid id{};
  int n = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Tagged, id, n)
};

TEST_P(StoreConformance, ConditionsOnTheKeyHold) {
  for (const char* key : {"a", "b", "c", "d"}) things_.Insert(key, {{"n", 1}});
  EXPECT_EQ(things_.Query(Filter().Equal("_id", "b")), Keys{"b"});
  EXPECT_EQ(things_.Query(Filter().Equal("_id", "x")), Keys{});
  EXPECT_EQ(things_.Query(Filter().NotEqual("_id", "b")), (Keys{"a", "c", "d"}));
  EXPECT_EQ(things_.Query(Filter().Less("_id", "c")), (Keys{"a", "b"}));
  EXPECT_EQ(things_.Query(Filter().AtMost("_id", "c")), (Keys{"a", "b", "c"}));
  EXPECT_EQ(things_.Query(Filter().Greater("_id", "b")), (Keys{"c", "d"}));
  EXPECT_EQ(things_.Query(Filter().AtLeast("_id", "b").Less("_id", "d")), (Keys{"b", "c"}));
  EXPECT_EQ(things_.Query(Filter().Equal("_id", nullptr)), Keys{});
  EXPECT_EQ(things_.Query(Filter().NotEqual("_id", nullptr)).size(), 4U);
  EXPECT_EQ(things_.Query(Filter().OrderByDescending("_id").Limit(2)), (Keys{"d", "c"}));
  EXPECT_EQ(things_.Query(Filter().OrderBy("_id").Limit(2)), (Keys{"a", "b"}));
  EXPECT_EQ(things_.AcquireNext(Filter().OrderByDescending("_id")).key, Key("d"));
  EXPECT_EQ(things_.AcquireNext(Filter().Greater("_id", "a")).key, Key("b"));
}

TEST_P(StoreConformance, ConditionsOnTheKeyCompareWithinItsType) {
  const Uuid uuid = FreshId();
  ObjectId oid;
  oid.bytes.fill(1);
  const Keys keys{"5", std::int64_t{5}, std::int64_t{50}, std::int64_t{-5}, uuid, oid};
  for (const Key& key : keys) things_.Insert(key, {{"n", 1}});
  EXPECT_EQ(things_.Query(Filter().Equal("_id", 5)), Keys{std::int64_t{5}});
  EXPECT_EQ(things_.Query(Filter().Equal("_id", 5.0)), Keys{std::int64_t{5}});
  EXPECT_EQ(things_.Query(Filter().Equal("_id", "5")), Keys{"5"});
  EXPECT_EQ(things_.Query(Filter().Less("_id", 5.5)), (Keys{std::int64_t{-5}, std::int64_t{5}}));
  EXPECT_EQ(things_.Query(Filter().AtLeast("_id", 5)), (Keys{std::int64_t{5}, std::int64_t{50}}));
  EXPECT_EQ(things_.Query(Filter().Equal("_id", Binary::FromUuid(uuid))), Keys{uuid});
  EXPECT_EQ(things_.Query(Filter().AtMost("_id", Binary::FromUuid(uuid))), Keys{uuid});
  EXPECT_EQ(things_.Query(Filter().Equal("_id", oid)), Keys{oid});
  EXPECT_EQ(things_.Query(Filter().Equal("_id", uuid)), Keys{}) << "a text";
  EXPECT_EQ(things_.Query(Filter().Equal("_id", true)), Keys{});
  EXPECT_EQ(things_.Query(Filter().NotEqual("_id", 5)).size(), keys.size() - 1);
}

TEST_P(StoreConformance, AMemberOfABodyIsNotItsKey) {
  things_.Insert("a", {{"id", "z"}});
  things_.Insert("b", Json::object());
  EXPECT_EQ(things_.Query(Filter().Equal("id", "z")), Keys{"a"});
  EXPECT_EQ(things_.Query(Filter().Equal("id", "b")), Keys{});
  EXPECT_EQ(things_.Query(Filter().OrderBy("id")), (Keys{"b", "a"}));
}

TEST_P(StoreConformance, AnIndexMayEndWithTheKey) {
  for (const char* key : {"a", "b", "c"}) things_.Insert(key, {{"n", 1}});
  things_.EnsureIndex({{"_id"}});
  things_.EnsureIndex({{"_id"}, true});
  things_.EnsureIndex({{"n", "_id"}});
  things_.EnsureIndex({{"n", "_id"}, true});
  EXPECT_EQ(things_.Query(Filter().OrderByDescending("_id")), (Keys{"c", "b", "a"}));
  EXPECT_EQ(things_.Query(Filter().Equal("n", 1).OrderByDescending("_id")), (Keys{"c", "b", "a"}));
  EXPECT_EQ(things_.Query(Filter().Greater("_id", "a")), (Keys{"b", "c"}));
  EXPECT_THROW(things_.EnsureIndex({{"_id", "n"}}), std::invalid_argument);
  EXPECT_THROW(things_.EnsureIndex({{}}), std::invalid_argument);
}

TEST_P(StoreConformance, AnIndexNamesEachFieldOnceAndNotTooMany) {
  IndexSpec index{.fields = {"a", "a"}};
  EXPECT_THROW(store().EnsureIndex(things_.collection(), index), std::invalid_argument);
  index.fields.clear();
  while (index.fields.size() < 31)
    index.fields.push_back("f" + std::to_string(index.fields.size()));
  store().EnsureIndex(things_.collection(), index);
  index.fields.emplace_back("_id");
  store().EnsureIndex(things_.collection(), index);
  index.fields.back() = "f31";
  EXPECT_THROW(store().EnsureIndex(things_.collection(), index), std::invalid_argument);
}

TEST_P(StoreConformance, ARepositoryKnowsTheKeyByItsMember) {
  const LockManager manager(backend().store);
  const LockingRepository<TextKeyed> orders(manager, "things");
  for (const char* id : {"a", "b", "c"}) orders.Insert(TextKeyed{id, 1});
  const auto ids = [&](const Filter& filter) {
    std::string all;
    for (const auto& found : orders.Find(filter)) all += found->id;
    return all;
  };
  EXPECT_EQ(ids(Filter().Equal("id", "b")), "b");
  EXPECT_EQ(ids(Filter().NotEqual("id", "b")), "ac");
  EXPECT_EQ(ids(Filter().OrderByDescending("id")), "cba");
  EXPECT_EQ(ids(Filter().OrderBy("id").After("a")), "bc");
  EXPECT_EQ(ids(Filter().AtLeast("_id", "b")), "bc");
  orders.EnsureIndex({"id"}, true);
  orders.EnsureIndex({"n", "id"});
  orders.EnsureIndexes({Filter().Equal("n", 1).OrderBy("id"), Filter().Less("id", "b")});
  EXPECT_THROW(orders.EnsureIndex({"id", "n"}), std::invalid_argument);
  auto next = orders.LockNext(Filter().OrderByDescending("id"));
  EXPECT_EQ(next->id, "c");
  next.Discard();
}

TEST_P(StoreConformance, ARepositoryKnowsKeysOfOtherTypes) {
  const LockManager manager(backend().store);
  const LockingRepository<Numbered> numbered(manager, "numbered");
  for (const std::int64_t id : {-3, 20, 100}) numbered.Insert(Numbered{id, 1});
  const auto found = numbered.Find(Filter().Less("id", 100).OrderByDescending("id"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]->id, 20);
  const LockingRepository<Tagged> tagged(manager, "tagged");
  const Uuid id = FreshId();
  tagged.Insert(Tagged{id, 1});
  tagged.Insert(Tagged{FreshId(), 2});
  EXPECT_EQ(tagged.Find(Filter().Equal("id", id)).size(), 1U);
  EXPECT_EQ(tagged.Find(Filter().NotEqual("id", id)).size(), 1U);
  EXPECT_EQ(tagged.Find(Filter().AtLeast("id", Uuid{})).size(), 2U);
  EXPECT_THROW(static_cast<void>(tagged.Find(Filter().Equal("id", "no UUID"))),
               std::invalid_argument);
}

TEST_P(StoreConformance, ASymbolIsNoText) {
  things_.Insert("symbol", {{"v", {{"$symbol", "s"}}}});
  things_.Insert("text", {{"v", "s"}});
  EXPECT_EQ(things_.Query(Filter().Equal("v", "s")), Keys{"text"});
  EXPECT_EQ(things_.Query(Filter().NotEqual("v", "s")), Keys{"symbol"});
  EXPECT_EQ(things_.Query(Filter().AtLeast("v", "\\")), Keys{"text"});
  EXPECT_EQ(things_.Query(Filter().Less("v", "t")), Keys{"text"});
  EXPECT_EQ(things_.Query(Filter().OrderBy("v")), (Keys{"text", "symbol"}));
  EXPECT_EQ(things_.Query(Filter().OrderByDescending("v")), (Keys{"symbol", "text"}));
}

}  // namespace
}  // namespace doclock::conformance
