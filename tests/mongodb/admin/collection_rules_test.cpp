// What a collection may be: what the server tells of it decides whether it can hold locks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CollectionRules : public ::testing::Test {
 protected:
  void Run(const std::string& command) {
    mongodb::Doc doc;
    bson_concat(doc.get(), Parse(command).get());
    documents_.Run(doc);
  }
  void Index(const std::string& spec) {
    Run(R"({"createIndexes": "things", "indexes": [)" + spec + "]}");
  }
  /// Why a store refuses to open it, for documents and for named locks.
  std::string Refusal(const std::string& name = "things") {
    const LockManager manager(OpenMongodbStore(documents_.uri()));
    std::string why = "opened";
    try {
      const LockingRepository<nlohmann::json> documents(manager, name);
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused);
      why = error.what();
      EXPECT_THAT(why, HasSubstr(name));
    }
    EXPECT_EQ(why == "opened", IsOpened<LockProvider>(name));
    return why;
  }
  template <class Locks>
  bool IsOpened(const std::string& name) {
    try {
      const LockManager manager(OpenMongodbStore(documents_.uri()));
      const Locks locks(manager, name);
      return true;
    } catch (const StoreException&) {
      return false;
    }
  }
  /// What doctor says of a collection that can be opened.
  std::vector<Finding> Warnings() {
    const auto store = OpenMongodbStore(documents_.uri());
    auto found = store->Examine(store->Open("things", {}, std::chrono::seconds(30)).get(),
                                std::chrono::seconds(10));
    std::erase_if(found, [](const Finding& one) { return one.check != "collection"; });
    return found;
  }

  mongo_test::Database documents_;
};

TEST_F(CollectionRules, WhoseDocumentsTheServerDeletesAreRefused) {
  Run(R"({"create": "things", "capped": true, "size": 100000, "max": 5})");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("capped"), HasSubstr("use another collection")));
  Run(R"({"create": "ageing", "clusteredIndex": {"key": {"_id": 1}, "unique": true},
          "expireAfterSeconds": 100})");
  EXPECT_THAT(Refusal("ageing"), HasSubstr("expireAfterSeconds"));
  Run(R"({"create": "clustered", "clusteredIndex": {"key": {"_id": 1}, "unique": true}})");
  EXPECT_EQ(Refusal("clustered"), "opened");
}

TEST_F(CollectionRules, WithoutDocumentsOfTheirOwnAreRefused) {
  Run(R"({"create": "things"})");
  Run(R"({"create": "shown", "viewOn": "things", "pipeline": []})");
  EXPECT_THAT(Refusal("shown"), HasSubstr("is a view"));
  Run(R"({"create": "measured", "timeseries": {"timeField": "t"}})");
  EXPECT_THAT(Refusal("measured"), HasSubstr("is a time series"));
  EXPECT_THAT(Refusal("system.things"), HasSubstr("the server's own"));
}

TEST_F(CollectionRules, WithACollationAreRefusedByItsName) {
  Run(R"({"create": "things", "collation": {"locale": "en", "strength": 3, "numericOrdering": true}})");
  EXPECT_THAT(Refusal(), HasSubstr("collation (locale en, strength 3)"));
  Run(R"({"create": "clustered", "clusteredIndex": {"key": {"_id": 1}, "unique": true},
          "collation": {"locale": "de", "strength": 1}})");
  EXPECT_THAT(Refusal("clustered"), HasSubstr("collation (locale de, strength 1)"));
  Run(R"({"create": "simple", "collation": {"locale": "simple"}})");
  EXPECT_EQ(Refusal("simple"), "opened");
}

/// Open does not look at validators: a refusal tells.
TEST_F(CollectionRules, AValidatorsRefusalNamesTheFieldsThatItHasToAllow) {
  Run(R"({"create": "things", "validator": {"lockId": {"$exists": false}}})");
  const LockManager manager(OpenMongodbStore(documents_.uri()));
  const LockingRepository<nlohmann::json> things(manager, "things");
  for (const bool with_min_hold : {false, true}) {
    try {
      const auto minimum = std::chrono::milliseconds(with_min_hold ? 1 : 0);
      static_cast<void>(
          things.Lock({"a", nlohmann::json{{"secret", "Canary"}}}, {.min_hold = minimum}));
      ADD_FAILURE();
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("DocumentValidationFailure"), HasSubstr("validator"),
                        HasSubstr("lockId, lockTime"), Not(HasSubstr("Canary"))));
    }
  }
}

TEST_F(CollectionRules, WithATtlIndexOverTheLockAreRefusedAndOverAnotherFieldWarnedOf) {
  Index(R"({"key": {"expiry": 1}, "name": "ages", "expireAfterSeconds": 60})");
  ASSERT_EQ(Refusal(), "opened");
  const auto found = Warnings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().level, FindingLevel::kWarning);
  EXPECT_THAT(found.front().text, AllOf(HasSubstr("things"), HasSubstr("ages over expiry")));
  Index(R"({"key": {"lockTime": 1}, "name": "locks", "expireAfterSeconds": 60})");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("TTL index locks over lockTime"), HasSubstr("Purge")));
}

TEST_F(CollectionRules, WithAUniqueIndexOverTheLockAreRefused) {
  Index(R"({"key": {"email": 1}, "name": "email", "unique": true})");
  Index(R"({"key": {"_id": 1, "lockId": 1}, "name": "harmless", "unique": true})");
  Index(R"({"key": {"lockId": 1}, "name": "not_unique"})");
  EXPECT_EQ(Refusal(), "opened");
  EXPECT_THAT(Warnings(), ::testing::IsEmpty());
  Index(R"({"key": {"a": 1, "lockOwner.name": 1}, "name": "one", "unique": true, "sparse": true})");
  EXPECT_THAT(Refusal(), HasSubstr("the unique index one over lockOwner.name"));
}

TEST_F(CollectionRules, KnowTheFieldsOfTheLockByTheirNames) {
  Index(R"({"key": {"lockTime": 1}, "name": "theirs", "expireAfterSeconds": 60})");
  auto names = std::make_shared<LockFieldNames>();
  names->time = "doclockTime";
  const LockManager manager(OpenMongodbStore(documents_.uri()));
  EXPECT_NO_THROW((LockingRepository<nlohmann::json>(manager, "things", {.lock_fields = names})));
}

TEST_F(CollectionRules, WithAnEncryptedKeyOrLockAreRefused) {
  const std::string field =
      R"("keyId": {"$binary": {"base64": "MDAwMDAwMDAwMDAwMDAwMA==", "subType": "04"}}, "bsonType": "string"})";
  Run(R"({"create": "things", "encryptedFields": {"fields": [{"path": "lockOwner.name", )" + field +
      "]}}");
  EXPECT_THAT(Refusal(), HasSubstr("encrypts lockOwner.name"));
  Run(R"({"create": "people", "encryptedFields": {"fields": [{"path": "ssn", )" + field + "]}}");
  EXPECT_EQ(Refusal("people"), "opened");
}

TEST_F(CollectionRules, ThatRecordImagesOfChangesAreOpened) {
  Run(R"({"create": "things", "changeStreamPreAndPostImages": {"enabled": true}})");
  EXPECT_EQ(Refusal(), "opened");
}

TEST(CollectionRulesOf, TheDatabaseThatIsNotReplicatedRefuseAll) {
  const std::string uri = mongo_test::SetUri();
  const auto at = uri.find("/?");
  const auto store = OpenMongodbStore(uri.substr(0, at + 1) + "local" + uri.substr(at + 1));
  try {
    static_cast<void>(store->Open("things", {}, std::chrono::seconds(30)));
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("local, which a replica set does not replicate"));
  }
}

}  // namespace
}  // namespace doclock::mongo_docs_test
