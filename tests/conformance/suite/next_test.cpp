#include <set>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

Filter Queued() { return Filter().Equal("status", "queued").OrderBy("due"); }

class NextDocument : public StoreConformance {
 protected:
  void Fill() {
    things_.Insert("late", {{"status", "queued"}, {"due", 30}});
    things_.Insert("soon", {{"status", "queued"}, {"due", 10}});
    things_.Insert("done", {{"status", "done"}, {"due", 5}});
    things_.Insert("then", {{"status", "queued"}, {"due", 20}});
  }
};

void ExpectAllInOrder(Client& things) {
  for (const char* key : {"soon", "then", "late"}) {
    const Client::Next next = things.AcquireNext(Queued());
    ASSERT_EQ(next.status, OpStatus::kDone);
    EXPECT_EQ(next.key, Key(key));
    EXPECT_EQ(next.op.body.json().at("status"), "queued");
    EXPECT_EQ(next.op.version, 2);
    EXPECT_EQ(things.Read(next.key).lock_id, next.id);
  }
  EXPECT_EQ(things.AcquireNext(Queued()).status, OpStatus::kMissing);
}

TEST_P(NextDocument, ComesInTheFiltersOrderAndSkipsLiveLocks) {
  Fill();
  ExpectAllInOrder(things_);
}

TEST_P(NextDocument, ComesInTheFiltersOrderWithAnIndexToo) {
  store().EnsureIndex(things_.collection(), {{"status", "due"}, false});
  Fill();
  ExpectAllInOrder(things_);
}

TEST_P(NextDocument, MayComeFromTheOtherEnd) {
  Fill();
  store().EnsureIndex(things_.collection(), {{"status", "due"}, false});
  const auto filter = Filter().Equal("status", "queued").OrderByDescending("due");
  EXPECT_EQ(things_.AcquireNext(filter).key, Key("late"));
  EXPECT_EQ(things_.AcquireNext(filter).key, Key("then"));
}

TEST_P(NextDocument, MayHaveAnExpiredLock) {
  Fill();
  const Client::Next first = things_.AcquireNext(Queued());
  clock().Advance(kTtl);
  const Client::Next again = things_.AcquireNext(Queued());
  ASSERT_EQ(again.status, OpStatus::kDone);
  EXPECT_EQ(again.key, first.key);
  EXPECT_TRUE(again.op.took_over);
  EXPECT_EQ(things_.Release(first.key, first.id).status, OpStatus::kLost);
}

TEST_P(NextDocument, IsNotOneWhoseLockIsMalformed) {
  if (!backend().spoil) GTEST_SKIP() << "a test cannot reach this store's lock fields";
  Fill();
  backend().spoil("things", "soon");
  EXPECT_EQ(things_.AcquireNext(Queued()).key, Key("then"));
  EXPECT_EQ(things_.AcquireNext(Queued()).key, Key("late"));
  EXPECT_EQ(things_.AcquireNext(Queued()).status, OpStatus::kMissing);
  const std::vector<LockRow> rows = things_.Locks({.key = Key("soon"), .unheld = true});
  ASSERT_EQ(rows.size(), 1U) << "it is found in a list";
  EXPECT_TRUE(rows.front().malformed);
}

TEST_P(NextDocument, IsNotOneThatMinHoldKeepsClosed) {
  things_.Release("only", things_.Create("only", {}, {.min_hold = 60s}));
  EXPECT_EQ(things_.AcquireNext(Filter()).status, OpStatus::kMissing);
  clock().Advance(60s);
  EXPECT_EQ(things_.AcquireNext(Filter()).status, OpStatus::kDone);
}

TEST_P(NextDocument, IsMissingWhenNothingMatches) {
  EXPECT_EQ(things_.AcquireNext(Filter()).status, OpStatus::kMissing);
  Fill();
  EXPECT_EQ(things_.AcquireNext(Filter().Equal("status", "gone")).status, OpStatus::kMissing);
}

TEST_P(NextDocument, FollowsWhatReleasesWrite) {
  store().EnsureIndex(things_.collection(), {{"status", "due"}, false});
  Fill();
  const Client::Next first = things_.AcquireNext(Queued());
  things_.Release(first.key, first.id,
                  {.expected = 2, .body = MakeBody({{"status", "queued"}, {"due", 99}})});
  EXPECT_EQ(things_.AcquireNext(Queued()).key, Key("then"));
  EXPECT_EQ(things_.AcquireNext(Queued()).key, Key("late"));
  EXPECT_EQ(things_.AcquireNext(Queued()).key, Key("soon"));
}

TEST_P(NextDocument, DrainsAQueueOfManyExactlyOnce) {
  store().EnsureIndex(things_.collection(), {{"status", "due"}, false});
  constexpr int kCount = 200;
  for (int i = 0; i < kCount; ++i) things_.Insert(i, {{"status", "queued"}, {"due", i % 7}});
  std::set<Key> seen;
  std::int64_t due = 0;
  for (Client::Next next = things_.AcquireNext(Queued()); next.status == OpStatus::kDone;
       next = things_.AcquireNext(Queued())) {
    EXPECT_TRUE(seen.insert(next.key).second);
    EXPECT_GE(next.op.body.json().at("due"), due);
    due = next.op.body.json().at("due");
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
