#include <cstdlib>

#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "doclock/locking_repository.h"
#include "doclock/testing/faulty_store.h"
#include "store_conformance.h"
#include "typed_values.h"

namespace doclock::conformance {
namespace {

using Keys = std::vector<Key>;

/// Values of every type, with ties and near ones.
std::vector<Json> WalkedValues() {
  return {nullptr,
          0,
          -0.0,
          1,
          1.0,
          0.1,
          0.30000000000000004,
          0.3,
          -7,
          std::int64_t{1} << 53,
          (std::int64_t{1} << 53) + 1,
          1e300,
          1e300,
          1.2345678901234567e250,
          1.2345678901234567e250,
          -1e22,
          -1e22,
          5e-324,
          5e-324,
          "",
          "a",
          "a",
          "ab",
          std::string("a\0b", 3),
          "\1",
          "[x",
          "{x",
          "~",
          "\xc3\xa4",
          true,
          true,
          false,
          At(-5),
          At(3),
          At(3),
          At(20),
          At(100),
          Binary{{255}, 0},
          Binary{{0, 0}, 0},
          Binary{{1}, 4},
          Binary{{255}, 0},
          Oid(1),
          Oid(2),
          Decimal128("2.5"),
          Decimal128("2.50"),
          Decimal128("-10"),
          Decimal128("NaN"),
          Json{{"a", 1}},
          Json{{"b", 1}},
          Json::array({1, 2}),
          Json::array(),
          Json{{"$symbol", "s"}},
          Json{{"$minKey", 1}},
          Json{{"$timestamp", {{"i", 1}, {"t", 2}}}}};
}

class Walks : public StoreConformance {
 protected:
  /// The keys that pages of this many documents show, one after the other.
  Keys Paged(Filter filter, std::int64_t page) {
    Keys keys;
    for (;;) {
      const std::vector<QueryRow> rows = things_.Rows(Filter(filter).Limit(page));
      for (const QueryRow& row : rows) keys.push_back(row.key);
      if (std::ssize(rows) < page || keys.size() > kMost) return keys;
      const Json value =
          filter.order().empty() ? Json() : ValueAt(rows.back().body.json(), filter.order());
      filter.After(rows.back().key, value);
    }
  }
  void ExpectPages(const Filter& filter, const std::string& what) {
    const Keys whole = things_.Query(filter);
    for (const std::int64_t page : {1, 2, 7}) {
      EXPECT_EQ(Paged(filter, page), whole) << what << ", pages of " << page;
    }
  }
  void Fill(int count) {
    std::vector<Key> keys;
    for (int i = 0; i < count; ++i) keys.emplace_back(i);
    constexpr int kAtOnce = 500;
    for (int begin = 0; begin < count; begin += kAtOnce) {
      std::vector<SaveOp> ops;
      ops.reserve(kAtOnce);
      std::vector<StoreOp*> all;
      for (int i = begin; i < std::min(begin + kAtOnce, count); ++i) {
        SaveOp& op = ops.emplace_back(things_.collection(), keys[static_cast<std::size_t>(i)]);
        op.request.save = SaveKind::kInsert;
        op.request.write_id = FreshId();
        op.request.body = MakeBody({{"n", i}, {"even", i % 2 == 0}});
        all.push_back(&op);
      }
      things_.Execute(all);
    }
  }

  static constexpr std::size_t kMost = 100'000;  // a walk that does not end
};

TEST_P(Walks, PagesShowEachDocumentOnceInEveryOrder) {
  const Json values = backend().Kept(WalkedValues());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(things_.Insert(i * 7 % values.size(), {{"v", values[i]}, {"w", {{"x.y", 1}}}}).status,
              OpStatus::kDone)
        << values[i];
  }
  things_.Insert("missing", Json::object());
  for (const bool indexed : {false, true}) {
    const std::string how = indexed ? " by an index" : "";
    if (indexed) store().EnsureIndex(things_.collection(), {{"v"}});
    ExpectPages(Filter(), "by key" + how);
    ExpectPages(Filter().OrderByDescending("_id"), "by key, descending" + how);
    ExpectPages(Filter().OrderBy("v"), "ascending" + how);
    ExpectPages(Filter().OrderByDescending("v"), "descending" + how);
    ExpectPages(Filter().AtLeast("v", 0).OrderBy("v"), "numbers" + how);
    ExpectPages(Filter().Less("v", "b").OrderByDescending("v"), "texts, descending" + how);
    ExpectPages(Filter().AtMost("v", At(20)).OrderByDescending("v"), "dates, descending" + how);
    ExpectPages(Filter().Equal("v", "a"), "one text" + how);
    ExpectPages(Filter().OrderBy("a\"b"), "a name with a quote" + how);
  }
}

TEST_P(Walks, PagesGoOverKeysOfAllTypes) {
  const Keys keys{"",        "a",       "b",    std::int64_t{-5}, std::int64_t{7},
                  FreshId(), FreshId(), Oid(1), Oid(9),           FreshId()};
  for (const Key& key : keys) ASSERT_EQ(things_.Insert(key, {{"v", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Query(Filter()).size(), keys.size());
  ExpectPages(Filter(), "ascending");
  ExpectPages(Filter().OrderByDescending("_id"), "descending");
  ExpectPages(Filter().OrderBy("v"), "ties");
  ExpectPages(Filter().OrderByDescending("v"), "ties, descending");
  store().EnsureIndex(things_.collection(), {{"v"}});
  ExpectPages(Filter().OrderByDescending("v"), "ties, by an index");
  Keys upwards = things_.Query(Filter());
  std::reverse(upwards.begin(), upwards.end());
  EXPECT_EQ(things_.Query(Filter().OrderByDescending("_id")), upwards);
}

TEST_P(Walks, APageBeginsBehindADocumentThatIsGone) {
  for (int i = 0; i < 6; ++i) things_.Insert(i, {{"v", i / 2}});
  things_.Erase(3);
  EXPECT_EQ(things_.Query(Filter().After(3)), (Keys{4, 5}));
  EXPECT_EQ(things_.Query(Filter().OrderBy("v").After(3, 1)), (Keys{4, 5}));
  EXPECT_EQ(things_.Query(Filter().OrderByDescending("v").After(3, 1)), (Keys{0, 1}));
}

TEST_P(Walks, APositionInAnOrderByAFieldNeedsItsValue) {
  for (int i = 0; i < 4; ++i) things_.Insert(i, i < 2 ? Json::object() : Json{{"v", i}});
  const LockManager manager(backend().store);
  const LockingRepository<Json> things(manager, "things");
  const auto keys = [&](const Filter& filter) {
    Keys found;
    for (const auto& one : things.Find(filter)) found.push_back(one.key());
    return found;
  };
  const auto refused = [](const auto& use) { EXPECT_THROW(use(), std::invalid_argument); };
  for (const Filter& filter :
       {Filter().OrderBy("v").After(1), Filter().After(1).OrderByDescending("v")}) {
    refused([&] { (void)things.Find(filter); });
    refused([&] { (void)things.FindAsync(filter); });
    refused([&] { things.ForEach(filter, [](auto&) {}); });
    refused([&] { (void)things.TryLockNext(filter); });
    refused([&] { (void)things.LockNextAsync(filter); });
  }
  EXPECT_EQ(keys(Filter().After(1)), (Keys{2, 3}));
  EXPECT_EQ(keys(Filter().OrderBy("_id").After(1)), (Keys{2, 3}));
  EXPECT_EQ(keys(Filter().OrderBy("v").After(0, nullptr)), (Keys{1, 2, 3}));
  EXPECT_EQ(keys(Filter().OrderByDescending("v").After(0, nullptr)), Keys{1});
  EXPECT_EQ(keys(Filter().OrderBy("v").After(0).After(2, 2)), Keys{3});
}

TEST_P(Walks, GoPageByPageWhileTheCallbackWrites) {
  const char* const wanted = std::getenv("DOCLOCK_WALK_DOCUMENTS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 10'000;
  Fill(count);
  const LockManager manager(backend().store);
  const LockingRepository<Json> things(manager, "things");
  int seen = 0, expected = 0;
  things.ForEach(Filter(), [&](Snapshot<Json>& snapshot) {
    const int n = expected++;
    EXPECT_EQ(snapshot.key(), Key(n));
    if (n == 10) {
      things.Erase(count - 1);
      things.Insert(Key(-1), Json{{"n", -1}});  // behind the walk
      things.With(Key(11), [](Json& body) { body["changed"] = true; });
    }
    ++seen;
    return !::testing::Test::HasFailure();
  });
  EXPECT_EQ(seen, count - 1);
  int last = count;
  things.ForEach(Filter().Equal("even", true).OrderByDescending("n"),
                 [&](Snapshot<Json>& snapshot) {
                   const int n = snapshot->at("n").get<int>();
                   EXPECT_EQ(n, last == count ? (count - 2) / 2 * 2 : last - 2);
                   last = n;
                   return !::testing::Test::HasFailure();
                 });
  EXPECT_EQ(last, 0);
  EXPECT_EQ(things.Find(Filter().OrderBy("_id").Limit(1500)).size(), 1500U);
}

TEST_P(Walks, OverLargeDocumentsShowAll) {
  const std::string text(1'500'000, 'x');
  for (int i = 0; i < 4; ++i) things_.Insert(i, {{"v", 3 - i}, {"text", text}});
  const LockManager manager(backend().store);
  const LockingRepository<Json> things(manager, "things");
  const auto walk = [&](const Filter& filter) {
    Keys keys;
    things.ForEach(filter, [&](Snapshot<Json>& snapshot) { keys.push_back(snapshot.key()); });
    return keys;
  };
  EXPECT_EQ(walk(Filter()), (Keys{0, 1, 2, 3}));
  EXPECT_EQ(walk(Filter().OrderBy("v").Limit(3)), (Keys{3, 2, 1}));
}

TEST_P(Walks, InAnOrderKnowsLargeDocumentsThatChangeMeanwhile) {
  const std::string text(1'500'000, 'x');
  for (int i = 0; i < 8; ++i) things_.Insert(i, {{"v", i / 2}, {"text", i < 4 ? "" : text}});
  const LockManager manager(backend().store);
  const LockingRepository<Json> things(manager, "things");
  for (const bool indexed : {false, true}) {
    if (indexed) store().EnsureIndex(things_.collection(), {{"v"}});
    Keys keys;
    things.ForEach(Filter().NotEqual("v", nullptr).OrderByDescending("v"),
                   [&](Snapshot<Json>& snapshot) {
                     if (keys.empty()) {
                       things.With(Key(3), [](Json& body) { body["n"] = 1; });
                       things.With(Key(1), [](Json& body) { body["v"] = nullptr; });
                       things.Erase(Key(4));
                     }
                     keys.push_back(snapshot.key());
                   });
    EXPECT_EQ(keys, (Keys{6, 7, 5, 2, 3, 0})) << indexed;
    things.With(Key(1), [](Json& body) { body["v"] = 0; });
    things.Insert(Key(4), Json{{"v", 2}, {"text", text}});
  }
}

/// Each search in the order of a field may look at the whole collection.
class CountingSearches : public testing::FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override {
    if (!filter.order().empty()) ++searches;
    FaultyStore::Query(collection, filter, sink, budget);
  }
  int searches = 0;
};

TEST_P(Walks, InAnOrderFindManyLargeDocumentsAtOnce) {
  const std::string text(1'500'000, 'x');
  for (int i = 0; i < 4; ++i) things_.Insert(i, {{"v", i}, {"text", text}});
  const auto counting = std::make_shared<CountingSearches>(backend().store);
  const LockManager manager(counting);
  const LockingRepository<Json> things(manager, "things");
  int seen = 0;
  things.ForEach(Filter().OrderBy("v"), [&](Snapshot<Json>&) { ++seen; });
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(counting->searches, store().traits().reads_apart ? 1 : 2) << "a page has room for two";
}

INSTANTIATE_TEST_SUITE_P(Stores, Walks, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
