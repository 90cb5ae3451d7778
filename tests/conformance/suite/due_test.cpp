#include "store_conformance.h"
#include "typed_values.h"

namespace doclock::conformance {
namespace {

using Keys = std::vector<Key>;

TEST_P(StoreConformance, DueIsADateThatTheStoresClockHasReached) {
  const std::vector<std::pair<std::string, Json>> values{{"ahead", At(4'102'444'800'000)},
                                                         {"first", At(-5)},
                                                         {"list", Json::array({At(1)})},
                                                         {"null", nullptr},
                                                         {"number", 1},
                                                         {"second", At(1'700'000'000'000)},
                                                         {"text", "1"}};
  for (const auto& [key, value] : values)
    things_.Insert(key, {{"at", value}, {"in", {{"at", value}}}});
  things_.Insert("missing", Json::object());
  for (const bool indexed : {false, true}) {
    if (indexed) things_.EnsureIndex({{"at"}});
    for (const char* const field : {"at", "in.at"}) {
      const Filter due = Filter().Due(field);
      EXPECT_EQ(things_.Query(due), (Keys{"first", "second"}));
      EXPECT_EQ(things_.Query(Filter(due).OrderBy(field)), (Keys{"first", "second"}));
      EXPECT_EQ(things_.Query(Filter(due).OrderByDescending(field)), (Keys{"second", "first"}));
      EXPECT_EQ(things_.Query(Filter(due).Equal(field, At(-5))), Keys{"first"});
    }
  }
  EXPECT_EQ(things_.AcquireNext(Filter().Due("at").OrderBy("at")).key, Key("first"));
  EXPECT_EQ(things_.AcquireNext(Filter().Due("at").OrderBy("at")).key, Key("second"));
  EXPECT_EQ(things_.AcquireNext(Filter().Due("at").OrderBy("at")).status, OpStatus::kMissing);
}

TEST_P(StoreConformance, DueFollowsTheStoresClock) {
  if (backend().advance) GTEST_SKIP() << "the clock is the server's";
  things_.Insert("soon", {{"at", Date(backend().clock->WallTime() + 1h)}});
  const Filter due = Filter().Due("at");
  clock().Advance(1h - 1ms);
  EXPECT_EQ(things_.Query(due), Keys{});
  EXPECT_EQ(things_.AcquireNext(due).status, OpStatus::kMissing);
  clock().Advance(1ms);
  EXPECT_EQ(things_.Query(due), Keys{"soon"});
  EXPECT_EQ(things_.AcquireNext(due).status, OpStatus::kDone);
}

TEST_P(StoreConformance, ASearchInVainTellsWhenTheNextDocumentFallsDue) {
  const auto now =
      backend().advance ? std::chrono::system_clock::now() : backend().clock->WallTime();
  things_.Insert("next", {{"at", Date(now + 2h)}, {"n", 1}});
  things_.Insert("later", {{"at", Date(now + 3h)}, {"n", 1}});
  things_.Insert("other", {{"at", Date(now + 1h)}, {"n", 2}});
  things_.Create("locked", {{"at", Date(now + 1h)}, {"n", 1}});
  const auto due_in = [&](const Filter& filter, bool asks = true) {
    Key key;
    AcquireOp op(things_.collection(), key);
    op.grant.lock_id = FreshId();
    op.grant.ttl = kTtl;
    op.asks_due = asks;
    store().AcquireNext(filter, op, key, kBudget);
    EXPECT_EQ(op.status, OpStatus::kMissing);
    return op.due_in;
  };
  const Filter due = Filter().Equal("n", 1).Due("at");
  const auto found = due_in(due);
  ASSERT_TRUE(found);
  EXPECT_LE(*found, 2h);
  EXPECT_GT(*found, 1h);
  EXPECT_FALSE(due_in(due, false));
  EXPECT_FALSE(due_in(Filter().Equal("n", 3).Due("at")));
}

}  // namespace
}  // namespace doclock::conformance
