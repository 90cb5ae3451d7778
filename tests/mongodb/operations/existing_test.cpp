/// Documents that were there before this library: what is not ours stays as it is, byte for byte.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/support/random_bson.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kLockFields{"lockId",       "lockTime",   "lockTtl",
                                           "lockVersion",  "lockBorn",   "lockOwner",
                                           "lockReleased", "lockClosed", "lockFence"};

std::vector<std::string> OursAnd(const std::string& field) {
  std::vector<std::string> names = kLockFields;
  names.push_back(field);
  return names;
}

/// Knows one field of documents that have many.
struct Tally {
  int tally = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Tally, tally)

/// The store stays open: opening one takes longer than a hundred locks.
struct Shop {
  mongo_test::Database documents;
  LockManager manager{OpenMongodbStore(documents.uri())};
  LockingRepository<Tally> tallies{manager, "things"};

  static Shop& Instance() {
    static Shop shop;
    return shop;
  }
};

mongodb::Doc WithId(const Key& key, const mongodb::Doc& members) {
  mongodb::Doc doc;
  doc.Add("_id", key);
  bson_concat(doc.get(), members.get());
  return doc;
}

/// Locks, counts, releases; then looks at the bytes.
void ExpectKept(Shop& shop, const Key& key, const mongodb::Doc& members) {
  shop.documents.Insert("things", WithId(key, members));
  const BsonPtr before = shop.documents.Find("things", key);
  ASSERT_TRUE(before);
  {
    auto held = shop.tallies.Lock(key);
    held->tally = 41;
    held.Save();
    held->tally += 1;
    held.Release();
  }
  const BsonPtr after = shop.documents.Find("things", key);
  ASSERT_TRUE(after);
  EXPECT_EQ(RawFields(*after, OursAnd("tally")), RawFields(*before, OursAnd("tally")))
      << Canonical(*before) << "\nbecame\n"
      << Canonical(*after);
  bson_iter_t tally;
  ASSERT_TRUE(bson_iter_init_find(&tally, after.get(), "tally"));
  EXPECT_EQ(bson_iter_as_int64(&tally), 42);
  // A discarded lock leaves the body alone too.
  shop.tallies.Lock(key).Discard();
  EXPECT_EQ(RawFields(*shop.documents.Find("things", key), kLockFields),
            RawFields(*after, kLockFields));
}

RC_GTEST_PROP(ExistingDocuments, KeepEveryFieldByteForByte, ()) {
  RandomBson random;
  random.hostile_names = true;
  const mongodb::Doc members = random.Members();
  ExpectKept(Shop::Instance(), NewUuid(), members);
  RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(ExistingDocuments, KeepWhatDoclockWouldNotStore) {
  using mongodb::Doc;
  Doc decimal;
  bson_decimal128_t number;
  ASSERT_TRUE(bson_decimal128_from_string("18446744073709551615.00000000000000", &number));
  bson_append_decimal128(decimal.get(), "d", -1, &number);
  Doc deep = Doc::Of("x", 1);
  for (int i = 0; i < kMaxBodyDepth + 10; ++i) deep = Doc::Of("x", deep);
  const Doc all[] = {Doc::Of("text", "\xFF\xFE"),
                     Doc::Of("o", Doc::Of("text", "\xFF\xFE")),
                     Doc::Of("o", Doc::Of("\xFF", 1)),
                     Doc::Of("o", decimal),
                     std::move(decimal),
                     std::move(deep)};
  Shop shop;
  for (const Doc& members : all) {
    const Key key = NewUuid();
    ExpectKept(shop, key, members);
    const BsonPtr before = shop.documents.Find("things", key);
    shop.tallies.Update(key, [](Tally& tally) { ++tally.tally; });
    auto snapshot = shop.tallies.Find(key);
    ASSERT_TRUE(snapshot);
    ++(*snapshot)->tally;
    shop.tallies.Save(*snapshot);
    auto held = shop.tallies.Lock(key);
    EXPECT_EQ(held->tally++, 44);
    Transaction(shop.manager).Release(held).Commit();
    EXPECT_EQ(RawFields(*shop.documents.Find("things", key), OursAnd("tally")),
              RawFields(*before, OursAnd("tally")));
  }
}

TEST(ExistingDocuments, MayHaveKeysOfEveryKind) {
  Shop shop;
  const mongodb::Doc members = mongodb::Doc::Of("name", "x");
  ObjectId oid;
  oid.bytes.fill(200);
  for (const Key& key : {Key(oid), Key(NewUuid()), Key(std::int64_t{1} << 40), Key(7), Key("text"),
                         Key(""), Key("a.b"), Key("$x")}) {
    ExpectKept(shop, key, members);
    EXPECT_FALSE(shop.tallies.TryLock(key)->lost().stop_requested());
  }
  // 7 as an int32, as other drivers write it, is the same key.
  mongodb::Doc narrow;
  narrow.Add("_id", 8).Add("name", "narrow");
  shop.documents.Insert("things", narrow);
  shop.tallies.Lock(8).Release();
  EXPECT_EQ(shop.documents.Count("things"), 9);
}

TEST(ExistingDocuments, OfOtherKeysAreNeitherShownNorLocked) {
  Shop shop;
  const Uuid id = NewUuid();
  for (const char* text :
       {R"({"_id": {"$binary": {"base64": "AAEC", "subType": "04"}}})",
        R"({"_id": {"$binary": {"base64": "AAEC", "subType": "00"}}})",
        R"({"_id": {"$date": {"$numberLong": "5"}}})", R"({"_id": {"a": 1}})", R"({"_id": 1.5})",
        R"({"_id": null})", R"({"_id": true})", R"({"_id": {"$numberDecimal": "2.5"}})",
        R"({"_id": {"$numberDecimal": "9223372036854775809"}})",
        R"({"_id": {"$numberDouble": "9223372036854775808.0"}})"}) {
    shop.documents.Insert("things", std::string(text));
  }
  EXPECT_TRUE(shop.tallies.Find(Filter{}).empty());
  EXPECT_FALSE(shop.tallies.TryLockNext(Filter{}));
  EXPECT_THROW(static_cast<void>(shop.tallies.Lock(id)), NotFoundException);
  shop.tallies.Insert(id, Tally{1});
  EXPECT_EQ(shop.tallies.LockNext(Filter{}).key(), Key(id));
  mongodb::Doc filter;
  filter.Add("lockVersion", mongodb::Doc::Of("$exists", true));
  EXPECT_TRUE(shop.documents.Find("things", filter));
  EXPECT_EQ(shop.documents.Count("things"), 11);
}

TEST(ExistingDocuments, WhoseKeysTheServerTakesForOneAreShownByIt) {
  Shop shop;
  for (const char* text :
       {R"({"_id": {"$numberDouble": "1.0"}})", R"({"_id": {"$numberDouble": "-0.0"}})",
        R"({"_id": {"$numberDecimal": "2E+1"}})", R"({"_id": {"$symbol": "sym"}})"}) {
    shop.documents.Insert("things", std::string(text));
  }
  const std::vector<Key> keys{Key(0), Key(1), Key(20), Key("sym")};
  std::vector<Key> found;
  for (const auto& row : shop.tallies.Find(Filter{})) found.push_back(row.key());
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(keys));
  for (const Key& key : keys) {
    const auto held = shop.tallies.Lock(key);
    EXPECT_TRUE(held.held()) << key.ToString();
  }
  EXPECT_EQ(shop.documents.Count("things"), 4);
}

TEST(ExistingDocuments, KeepWhatIsNestedAsDeepAsAServerStores) {
  Shop shop;
  mongodb::Doc deep = mongodb::Doc::Of("leaf", std::int64_t{1});
  for (int i = 0; i < 90; ++i) deep = mongodb::Doc::Of("in", deep);
  ExpectKept(shop, "deep", mongodb::Doc::Of("deep", deep));
}

TEST(ExistingDocuments, KeepFieldsOfOneNameBoth) {
  Shop shop;
  mongodb::Doc inside;
  inside.Add("twice", 1).Add("twice", "again");
  ExpectKept(shop, "repeated", mongodb::Doc::Of("inside", inside));
}

TEST(ExistingDocuments, KeepFieldsWhoseNamesNoBodyMayHave) {
  Shop shop;
  mongodb::Doc members;
  members.Add("", 1).Add("a.b", 2).Add("$dollar", 3);
  ExpectKept(shop, "names", members);
}

/// nlohmann has two kinds of whole numbers, and MongoDB has two others.
struct Unsigned {
  unsigned tally = 0;
  int other = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Unsigned, tally, other)

TEST(ExistingDocuments, KeepWholeNumbersThatDidNotChange) {
  Shop shop;
  const LockingRepository<Unsigned> things{shop.manager, "things"};
  shop.documents.Insert("things", R"({"_id": "u", "tally": {"$numberLong": "5"}, "other": 1})");
  auto held = things.Lock("u");
  held->other = 2;
  held.Release();
  const BsonPtr after = shop.documents.Find("things", "u");
  bson_iter_t iter;
  ASSERT_TRUE(bson_iter_init_find(&iter, after.get(), "tally"));
  EXPECT_TRUE(BSON_ITER_HOLDS_INT64(&iter));
  ASSERT_TRUE(bson_iter_init_find(&iter, after.get(), "other"));
  EXPECT_EQ(bson_iter_as_int64(&iter), 2);
}

TEST(ExistingDocuments, AreOfVersionZeroUntilTheyAreLocked) {
  Shop shop;
  shop.documents.Insert("things", R"({"_id": "new", "tally": {"$numberLong": "5"}})");
  const auto found = shop.tallies.Find("new");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version(), 0);
  EXPECT_EQ((*found)->tally, 5);
  EXPECT_EQ(shop.tallies.Lock("new").fence(), 1);
}

}  // namespace
}  // namespace doclock::mongo_docs_test
