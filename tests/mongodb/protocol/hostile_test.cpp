/// Keys and bodies that would be commands, if anything evaluated them.

#include <gtest/gtest.h>

#include <array>

#include "conformance/suite/store_conformance.h"
#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using conformance::Client;
using conformance::Json;
using conformance::MakeBody;

class HostileInput : public ::testing::Test {
 protected:
  HostileInput() {
    for (const char* name : {"witness", "other"}) {
      things_.Insert(name, {{"secret", name}, {"n", 1}});
    }
  }
  /// The others are as they were.
  void ExpectWitnessesUntouched() {
    for (const char* name : {"witness", "other"}) {
      const ReadOp read = things_.Read(name);
      ASSERT_EQ(read.status, OpStatus::kDone);
      EXPECT_EQ(read.result.body.json(), (Json{{"secret", name}, {"n", 1}}));
      EXPECT_EQ(read.result.version, 1);
    }
  }

  mongo_test::Database documents_;
  std::shared_ptr<Store> store_ = OpenMongodbStore(documents_.uri());
  Client things_{store_};
};

TEST_F(HostileInput, KeysReachTheirOwnDocumentOnly) {
  for (const char* text : {"$where", "a.b", "{\"$gt\":\"\"}", "{$ne: null}", "$$ROOT", "$_id", "*",
                           "witness\xe2\x80\x8b", "'; db.dropDatabase(); '",
                           "function(){return true}", "/.*/", "_id", ""}) {
    const AcquireOp grant = things_.Create(text, {{"mine", true}});
    ASSERT_EQ(grant.status, OpStatus::kDone) << text;
    EXPECT_TRUE(grant.result.created) << text;
    EXPECT_EQ(things_.Release(text, grant, MakeBody({{"mine", false}})).status, OpStatus::kDone);
    EXPECT_EQ(things_.Read(text).result.body.json(), (Json{{"mine", false}}));
    EXPECT_EQ(things_.Erase(text).status, OpStatus::kDone);
  }
  ExpectWitnessesUntouched();
  EXPECT_EQ(documents_.Count("things"), 2);
}

TEST_F(HostileInput, ValuesThatLookLikeOperatorsAreStoredAsTheyAre) {
  const Json values{
      {"where", {{"$where", "sleep(10000) || true"}}},
      {"set", {{"$set", {{"secret", "gone"}}}}},
      {"inc", {{"$inc", 1}}},
      {"path", "$secret"},
      {"root", "$$ROOT"},
      {"now", "$$NOW"},
      {"expression", {{"$concat", {"$secret", "x"}}}},
      {"literal", {{"$literal", 1}}},
      {"function", {{"$function", {{"body", "x"}, {"args", Json::array()}, {"lang", "js"}}}}},
      {"cond", Json::array({{{"$cond", {true, 1, 2}}}})},
      {"ref", {{"$ref", "things"}, {"$id", "witness"}}},
      {"null", {{"$type", "null"}}}};
  // As an insert, as modifiers, as a pipeline (a min_hold needs one), as a replacement.
  ASSERT_EQ(things_.Insert("1", values).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("1").result.body.json(), values);
  const AcquireOp made = things_.Create("2", values);
  EXPECT_EQ(things_.Read("2").result.body.json(), values);
  ASSERT_EQ(things_.Release("2", made, MakeBody({{"all", values}})).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("2").result.body.json(), (Json{{"all", values}}));
  const AcquireOp held = things_.Create("3", values, {.min_hold = std::chrono::milliseconds(1)});
  ASSERT_EQ(held.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("3").result.body.json(), values);
  const WriteOp merged =
      things_.Release("3", held.request.grant.lock_id, {.body = MakeBody(values), .merge = true});
  ASSERT_EQ(merged.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("3").result.body.json(), values);
  ExpectWitnessesUntouched();
}

TEST_F(HostileInput, FiltersCompareAndNeverEvaluate) {
  for (const char* text : {"$secret", "$$ROOT", "{\"$ne\":null}", "witness' || '1'=='1"}) {
    EXPECT_TRUE(things_.Query(Filter{}.Equal("secret", text)).empty()) << text;
    EXPECT_EQ(things_.Query(Filter{}.NotEqual("secret", text)).size(), 2U) << text;
    EXPECT_EQ(things_.AcquireNext(Filter{}.Equal("secret", text)).status, OpStatus::kMissing);
  }
  for (const char* field : {"$where", "$expr", "$or"}) {
    EXPECT_THROW(Filter{}.Equal(field, "1"), std::invalid_argument);
  }
  EXPECT_THROW(Filter{}.Equal("secret", Json{{"$ne", nullptr}}), std::invalid_argument);
  EXPECT_THROW(Filter{}.Equal("secret", Json{{"$regex", ".*"}, {"$options", ""}}),
               std::invalid_argument);
  // A name inside the path that MongoDB would take for an operator.
  EXPECT_THROW(things_.Query(Filter{}.Equal("a.$where", "1")), std::invalid_argument);
  ExpectWitnessesUntouched();
}

TEST_F(HostileInput, NamesAreRefusedByNameBeforeAnythingIsSent) {
  LockManager manager{store_};
  const LockingRepository<Json> repository{manager, "things"};
  for (const std::string& name : {std::string("$where"), std::string("$set"), std::string("a.b"),
                                  std::string("n\0", 2), std::string("\xff"), std::string("_id"),
                                  std::string("lockId"), std::string("lockVersion")}) {
    auto held = repository.Lock("witness");
    (*held)[name] = "x";
    EXPECT_THROW(held.Release(), DocumentException) << name;
    held.Discard();
  }
  EXPECT_EQ(things_.Read("witness").result.body.json(), (Json{{"secret", "witness"}, {"n", 1}}));
}

TEST_F(HostileInput, TooLargeABodyIsATypedErrorAndDoesNotAffectOthers) {
  // The facade would have refused it; here the server does.
  const Key large("large"), small("small");
  SaveOp refused = things_.InsertOf(large, {{"text", std::string(17U << 20U, 'x')}});
  SaveOp fine = things_.InsertOf(small, {{"n", 1}});
  things_.Execute({&refused, &fine});
  EXPECT_EQ(refused.status, OpStatus::kFailed);
  EXPECT_EQ(fine.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("large").status, OpStatus::kMissing);
  ExpectWitnessesUntouched();
}

TEST_F(HostileInput, OwnersAndCommentsAreText) {
  const AcquireOp grant = things_.Create("owned", Json::object(), {.owner = "$$ROOT"});
  ASSERT_EQ(grant.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("owned").result.holder.name, "$$ROOT");
}

}  // namespace
}  // namespace doclock::mongo_docs_test
