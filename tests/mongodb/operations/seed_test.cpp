/// Documents of the .NET code from which the idea came: LockId and LockTime beside the body, null
/// or missing when it is not locked, without lease length and version. That code has its own
/// constant for the length of leases.

#include <gtest/gtest.h>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "doclock/time.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using namespace std::chrono_literals;

struct Dummy {
  std::string value;
};

}  // namespace
}  // namespace doclock::mongo_docs_test

template <>
struct doclock::EntityTraits<doclock::mongo_docs_test::Dummy>
    : doclock::DefaultEntityTraits<doclock::mongo_docs_test::Dummy> {
  static LockFieldNames GetLockFieldNames() {
    LockFieldNames names;
    names.id = "LockId";
    names.time = "LockTime";
    return names;
  }
  static nlohmann::json ToJson(const mongo_docs_test::Dummy& dummy) {
    return {{"Value", dummy.value}};
  }
  static mongo_docs_test::Dummy FromJson(const nlohmann::json& body) {
    return {body.at("Value").get<std::string>()};
  }
};

namespace doclock::mongo_docs_test {
namespace {

class SeedDocuments : public ::testing::TestWithParam<bson_subtype_t> {
 protected:
  /// A document as the .NET code stores it, locked this long ago.
  void InsertLocked(const Key& key, std::chrono::milliseconds age) {
    mongodb::Doc doc;
    doc.Add("_id", key).Add("Value", "before");
    const Uuid id = NewUuid();
    bson_append_binary(doc.get(), "LockId", -1, GetParam(), id.data, 16);
    bson_append_date_time(doc.get(), "LockTime", -1,
                          (Date::Now().time() - age).time_since_epoch().count());
    documents_.Insert("dummies", doc);
  }

  mongo_test::Database documents_;
  LockManager manager_{OpenMongodbStore(documents_.uri())};
  LockingRepository<Dummy> dummies_{manager_, "dummies", {.ttl = 60s}};
  const Key key_ = NewUuid();
};

TEST_P(SeedDocuments, AreRespectedWhileTheirLeaseOfTheRepositoryRuns) {
  InsertLocked(key_, 5s);
  try {
    static_cast<void>(dummies_.Lock(key_));
    FAIL() << "the document is locked";
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kBusy);
    ASSERT_TRUE(error.remaining());
    EXPECT_LE(*error.remaining(), 55s);
    EXPECT_GT(*error.remaining(), 30s);
  }
  EXPECT_FALSE(dummies_.TryLock({key_, Dummy{"other"}}));
}

TEST_P(SeedDocuments, AreTakenOverWhenTheirLeaseIsOver) {
  InsertLocked(key_, 61s);
  auto held = dummies_.Lock(key_);
  EXPECT_EQ(held->value, "before");
  EXPECT_EQ(held.fence(), 1);
  held->value = "after";
  held.Release();
  const BsonPtr doc = documents_.Find("dummies", key_);
  bson_iter_t iter;
  ASSERT_TRUE(bson_iter_init_find(&iter, doc.get(), "LockId"));
  EXPECT_TRUE(BSON_ITER_HOLDS_NULL(&iter));  // what the .NET code takes as free
  ASSERT_TRUE(bson_iter_init_find(&iter, doc.get(), "Value"));
  EXPECT_STREQ(bson_iter_utf8(&iter, nullptr), "after");
}

TEST_P(SeedDocuments, OurLocksAreWhatTheyTakeAsLocked) {
  auto held = dummies_.Lock({key_, Dummy{"ours"}});
  mongodb::Doc free;  // the .NET code's filter
  free.Add("_id", key_).AddNull("LockId");
  EXPECT_FALSE(documents_.Find("dummies", free));
  mongodb::Doc live;
  live.Add("_id", key_).Add("LockId", mongodb::Doc::Of("$type", "binData"));
  live.Add("LockTime", mongodb::Doc::Of("$type", "date"));
  EXPECT_TRUE(documents_.Find("dummies", live));
}

TEST_P(SeedDocuments, ReleasedByThemAreFree) {
  documents_.Insert("dummies", R"({"_id": "one", "Value": "x", "LockId": null, "LockTime": null})");
  documents_.Insert("dummies", R"({"_id": "two", "Value": "x"})");
  EXPECT_EQ(dummies_.Lock("one").fence(), 1);
  EXPECT_EQ(dummies_.Lock("two").fence(), 1);
}

TEST_P(SeedDocuments, TakenByThemAfterOursExpiredAreLost) {
  auto held = dummies_.Lock({key_, Dummy{"ours"}});
  // The .NET code judges by its own clock and its own idea of the lease, and sets both fields.
  documents_.Update("dummies", key_,
                    R"({"$set": {"LockId": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==",
                        "subType": "03"}}}, "$currentDate": {"LockTime": true}})");
  held->value = "too late";
  EXPECT_THROW(held.Release(), LockException);
  const BsonPtr doc = documents_.Find("dummies", key_);
  bson_iter_t value;
  ASSERT_TRUE(bson_iter_init_find(&value, doc.get(), "Value"));
  EXPECT_STREQ(bson_iter_utf8(&value, nullptr), "ours");
}

INSTANTIATE_TEST_SUITE_P(Subtypes, SeedDocuments,
                         ::testing::Values(BSON_SUBTYPE_UUID, BSON_SUBTYPE_UUID_DEPRECATED),
                         [](const auto& test) {
                           return test.param == BSON_SUBTYPE_UUID ? "Four" : "Three";
                         });

}  // namespace
}  // namespace doclock::mongo_docs_test
