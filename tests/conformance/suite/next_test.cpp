#include <set>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

Filter Queued() { return Filter().Equal("status", "queued").OrderBy("due"); }

class NextDocument : public StoreConformance {};

TEST_P(NextDocument, DrainsAQueueOfManyExactlyOnce) {
  store().EnsureIndex(things_.collection(), {{"status", "due"}, false});
  constexpr int kCount = 200;
  for (int i = 0; i < kCount; ++i) things_.Insert(i, {{"status", "queued"}, {"due", i % 7}});
  std::set<Key> seen;
  std::int64_t due = 0;
  for (Client::Next next = things_.AcquireNext(Queued()); next.status == OpStatus::kDone;
       next = things_.AcquireNext(Queued())) {
    EXPECT_TRUE(seen.insert(next.key).second);
    EXPECT_GE(next.op.result.body.json().at("due"), due);
    due = next.op.result.body.json().at("due");
    things_.Release(next.key, next.id, {.expected = 2, .body = MakeBody({{"status", "done"}})});
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kCount));
}

/// Takes and keeps them all; they must come in the order of their keys.
void ExpectEachBehindThoseTaken(Client things, const Filter& filter, int (*due)(int)) {
  constexpr int kCount = 101;  // more than a store looks at in one visit
  for (int i = 0; i < kCount; ++i) things.Insert(i, {{"status", "queued"}, {"due", due(i)}});
  for (int i = 0; i < kCount; ++i) {
    const Client::Next next = things.AcquireNext(filter);
    ASSERT_EQ(next.status, OpStatus::kDone) << i;
    ASSERT_EQ(next.key, Key(i));
  }
  EXPECT_EQ(things.AcquireNext(filter).status, OpStatus::kMissing);
}

TEST_P(NextDocument, IsFoundBehindManyThatAreLocked) {
  const Filter ascending = Filter().Equal("status", "queued").OrderBy("due");
  const Filter descending = Filter().Equal("status", "queued").OrderByDescending("due");
  for (const bool indexed : {false, true}) {
    const auto open = [&](const std::string& name) {
      Client things = Open(name + (indexed ? "-indexed" : ""));
      if (indexed) store().EnsureIndex(things.collection(), {{"status", "due"}, false});
      return things;
    };
    ExpectEachBehindThoseTaken(open("rising"), ascending, [](int i) { return i; });
    ExpectEachBehindThoseTaken(open("falling"), descending, [](int i) { return -i; });
    ExpectEachBehindThoseTaken(open("equal"), ascending, [](int) { return 7; });
    ExpectEachBehindThoseTaken(open("equal-descending"), descending, [](int) { return 7; });
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, NextDocument, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
