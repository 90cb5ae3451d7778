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

/// The result of a search in vain.
class SearchesInVain : public StoreConformance {
 protected:
  std::optional<std::chrono::milliseconds> FreeIn(const Filter& filter, bool asks = true) {
    Key key;
    AcquireOp op = things_.AcquireOf(key);
    op.request.asks_free_in = asks;
    store().AcquireNext(filter, op, key, kBudget);
    EXPECT_EQ(op.status, OpStatus::kMissing);
    return op.result.free_in;
  }
};

TEST_P(SearchesInVain, TellWhenTheNextDocumentFallsDue) {
  const auto now = store().WallTime(kBudget);
  things_.Insert("next", {{"at", Date(now + 2h)}, {"n", 1}});
  things_.Insert("later", {{"at", Date(now + 3h)}, {"n", 1}});
  things_.Insert("other", {{"at", Date(now + 1h)}, {"n", 2}});
  things_.Create("locked", {{"at", Date(now + 1h)}, {"n", 1}});
  const Filter due = Filter().Equal("n", 1).Due("at");
  const auto found = FreeIn(due);
  ASSERT_TRUE(found);
  EXPECT_LE(*found, 2h);
  EXPECT_GT(*found, 1h);
  EXPECT_FALSE(FreeIn(due, false));
  EXPECT_EQ(FreeIn(Filter().Equal("n", 3).Due("at")), std::chrono::milliseconds::max());
}

TEST_P(SearchesInVain, TellWhenALockEnds) {
  const Filter wanted = Filter().Equal("n", 1);
  EXPECT_EQ(FreeIn(wanted), std::chrono::milliseconds::max());
  things_.Create("longer", {{"n", 1}}, {.ttl = 3 * kTtl});
  things_.Create("other", {{"n", 2}}, {.ttl = kTtl});
  EXPECT_TRUE(clock().IsLeft(FreeIn(wanted), 3 * kTtl));
  AcquireOp shorter = things_.Create("shorter", {{"n", 1}, {"at", At(1)}}, {.ttl = 2 * kTtl});
  EXPECT_TRUE(clock().IsLeft(FreeIn(wanted), 2 * kTtl));
  EXPECT_TRUE(clock().IsLeft(FreeIn(Filter(wanted).Due("at")), 2 * kTtl)) << "it is due";
  things_.Release("shorter", shorter);
  EXPECT_EQ(things_.AcquireNext(wanted).status, OpStatus::kDone);
}

INSTANTIATE_TEST_SUITE_P(Stores, SearchesInVain, ::testing::ValuesIn(AllStores()), NameOf);

TEST_P(StoreConformance, TellsTheTimeOfDay) {
  const auto now = store().WallTime(kBudget);
  EXPECT_LT(std::chrono::abs(now - std::chrono::system_clock::now()), 1min);
  if (backend().advance) return;  // the clock is the server's
  EXPECT_EQ(now, backend().clock->WallTime());
  clock().Advance(1h);
  EXPECT_EQ(store().WallTime(kBudget), now + 1h);
}

}  // namespace
}  // namespace doclock::conformance
