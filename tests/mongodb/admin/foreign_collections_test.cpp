// Collections in which locks of ours would not be what is promised: refused when they are opened,
// before anything is locked in them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/bson/bson.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ForeignCollections : public ::testing::Test {
 protected:
  std::string Opened() {
    try {
      static_cast<void>(store_->Open("things", {}, std::chrono::seconds(30)));
      return "opened";
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused);
      EXPECT_FALSE(store_->Find("things"));
      return error.what();
    }
  }
  void Run(const std::string& command) {
    mongodb::Doc doc;
    bson_concat(doc.get(), Parse(command).get());
    documents_.Run(doc);
  }

  mongo_test::Database documents_;
  std::shared_ptr<Store> store_ = OpenMongodbStore(documents_.uri());
};

TEST_F(ForeignCollections, AreRefusedWithTheReason) {
  Run(R"({"createIndexes": "things", "indexes": [
          {"key": {"expiresAt": 1}, "name": "expiresAt_ttl", "expireAfterSeconds": 0}]})");
  EXPECT_THAT(Opened(), AllOf(HasSubstr("things"), HasSubstr("DistributedLock.MongoDB")));
}

TEST_F(ForeignCollections, AreKnownByTheirDocuments) {
  const std::pair<const char*, const char*> systems[] = {
      {R"({"_id": "a", "lockId": "00", "acquiredAt": {"$date": {"$numberLong": "1"}},
           "expiresAt": {"$date": {"$numberLong": "2"}}, "fencingToken": {"$numberLong": "1"}})",
       "DistributedLock.MongoDB"},
      {R"({"resource": "r", "shared": {"count": 0, "locks": []}, "exclusive": {"acquired": false}})",
       "square/mongo-lock"},
      {R"({"_id": "r", "ownerId": "a", "ttlMs": {"$numberLong": "1"},
           "expiresAt": {"$numberLong": "2"}})",
       "com.mongodb.pessimistic"},
      {R"({"_id": "a", "Value": "v", "LockId": null, "LockTime": null})", "MongoLocks"}};
  for (const auto& [document, system] : systems) {
    documents_.Insert("things", document);
    EXPECT_THAT(Opened(), AllOf(HasSubstr("things"), HasSubstr(system)));
    Run(R"({"drop": "things"})");
  }
  // Nor theirs where doclock was told to use the same.
  documents_.Insert("things", systems[3].first);
  LockFieldNames names;
  names.id = "LockId";
  names.time = "LockTime";
  EXPECT_NO_THROW(
      OpenMongodbStore(documents_.uri())->Open("things", names, std::chrono::minutes(1)));
  Run(R"({"drop": "things"})");
  // Fields that a user's own document may have.
  documents_.Insert("things", R"({"_id": "a", "expiresAt": 1, "ownerId": "a", "resource": "r"})");
  EXPECT_EQ(Opened(), "opened");
}

TEST_F(ForeignCollections, WhoseCollationMakesTwoKeysOneAreRefused) {
  Run(R"({"create": "things", "collation": {"locale": "en", "strength": 2}})");
  EXPECT_THAT(Opened(), AllOf(HasSubstr("things"), HasSubstr("collation")));
}

/// Drivers wrote them before there was subtype 4, each in its own order of bytes.
TEST_F(ForeignCollections, WithAnIdThatNoKeyNamesAreRefused) {
  mongodb::Doc old;
  mongodb::AddLegacyUuid(old, "_id", NewUuid());
  documents_.Insert("things", mongodb::Doc::Of("_id", NewUuid()));
  documents_.Insert("things", old);
  EXPECT_THAT(Opened(), AllOf(HasSubstr("things"), HasSubstr("UUID of subtype 3")));
  Run(R"({"delete": "things", "deletes": [{"q": {"_id": {"$lt": {"$binary": {
          "base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}}, "limit": 0}]})");
  EXPECT_EQ(documents_.Count("things"), 1);
  EXPECT_EQ(Opened(), "opened");
}

/// An upsert would store null in fields that its filter compares with null.
TEST_F(ForeignCollections, GetNoFieldThatSaysNothing) {
  LockManager manager(store_);
  const LockingRepository<nlohmann::json> things(manager, "things");
  things.Lock({"a", nlohmann::json{{"n", 1}}}).Release();
  const BsonPtr made = documents_.Find("things", Key("a"));
  bson_iter_t iter;
  EXPECT_FALSE(bson_iter_init_find(&iter, made.get(), "lockClosed")) << Canonical(*made);
  // Earlier versions stored it, and it does no harm.
  documents_.Insert("things", R"({"_id": "b", "lockClosed": null})");
  things.Lock("b").Release();
  const BsonPtr old = documents_.Find("things", Key("b"));
  EXPECT_FALSE(bson_iter_init_find(&iter, old.get(), "lockClosed")) << Canonical(*old);
}

}  // namespace
}  // namespace doclock::mongo_docs_test
