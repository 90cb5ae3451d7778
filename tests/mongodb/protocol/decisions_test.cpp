/// Where MongoDB had decided otherwise than src/rules/ (found by rules_test.cpp), one test each.

#include <gtest/gtest.h>

#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

constexpr const char* kId = R"({"$uuid": "11111111-1111-4111-8111-111111111111"})";
constexpr const char* kShareId = R"({"$uuid": "22222222-2222-4222-8222-222222222222"})";
constexpr const char* kOtherShareId = R"({"$uuid": "33333333-3333-4333-8333-333333333333"})";
constexpr const char* kLongAgo = R"({"$date": "2020-01-01T00:00:00Z"})";
constexpr const char* kNotSoLongAgo = R"({"$date": "2020-01-02T00:00:00Z"})";
constexpr std::chrono::hours kYears{24 * 365 * 3};

class MongoDecisions : public ::testing::Test {
 protected:
  /// @param lock the fields of a lock, as JSON
  void Put(const std::string& lock) {
    documents_.Insert("things", R"({"_id": "a", "n": 1, )" + lock + "}");
  }
  static std::string Field(const char* name, const std::string& value) {
    return "\"" + std::string(name) + "\": " + value;
  }
  static std::string Share(const char* id, const char* time, const char* name) {
    return "{" + Field("id", id) + ", " + Field("time", time) + ", " + Field("ttl", "1000") +
           R"(, "owner": {"name": ")" + name + R"("}})";
  }
  LockRow Row() {
    const std::vector<LockRow> rows = things_.Locks({.key = key_, .unheld = true});
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? LockRow() : rows.front();
  }

  Database documents_;
  Client things_{OpenMongodbStore(documents_.uri())};
  const Key key_{"a"};
};

TEST_F(MongoDecisions, AWriteAtVersionZeroFindsADocumentWithoutAVersion) {
  Put(Field("lockId", kId) + ", " + Field("lockTime", kLongAgo));
  const Uuid id = things_.Read(key_).result.lock_id;
  const WriteOp release = things_.Release(key_, id, {.expected = 0});
  ASSERT_EQ(release.status, OpStatus::kDone) << Why(release);
  EXPECT_EQ(release.result.version, 1);
  EXPECT_TRUE(things_.Read(key_).result.lock_id.is_nil());
}

TEST_F(MongoDecisions, ALeaseThatIsOverIsNotEndedAnew) {
  Put(Field("lockId", kId) + ", " + Field("lockTime", kLongAgo));
  things_.Expire(key_);
  EXPECT_GT(Row().age, kYears);
}

TEST_F(MongoDecisions, ASharesLeaseThatIsOverIsNotEndedAnew) {
  Put(R"("lockId": {"$uuid": "646f636c-6f63-4b00-8000-736861726564"}, )" +
      Field("lockTime", kLongAgo) + R"(, "lockTtl": 1000, "lockReaders": [)" +
      Share(kShareId, kLongAgo, "first") + "]");
  things_.Expire(key_);
  EXPECT_GT(Row().age, kYears);
}

TEST_F(MongoDecisions, ALockWithoutALengthEndedAfterTheDefault) {
  Put(R"("lockId": null, )" + Field("lockTime", kLongAgo));
  const auto since =
      std::chrono::system_clock::now() - std::chrono::sys_days(std::chrono::year{2020} / 1 / 1);
  EXPECT_LT(Row().age, since - kTtl + 10s);
}

TEST_F(MongoDecisions, ADocumentThatWasNeverLockedHadNoLease) {
  Put(R"("lockId": null)");
  EXPECT_EQ(Row().ttl, 0ms);
}

TEST_F(MongoDecisions, AReadOfSharesThatAreOverNamesTheLatest) {
  Put(R"("lockId": {"$uuid": "646f636c-6f63-4b00-8000-736861726564"}, )" +
      Field("lockTime", kNotSoLongAgo) + R"(, "lockTtl": 1000, "lockReaders": [)" +
      Share(kShareId, kLongAgo, "first") + ", " + Share(kOtherShareId, kNotSoLongAgo, "second") +
      "]");
  EXPECT_EQ(things_.Read(key_).result.holder.name, "second");
}

/// Waiting writers once left such a field, which is a member of the body now.
TEST_F(MongoDecisions, AFieldOfWaitingWritersStopsNobody) {
  Put(R"("lockId": null, "lockIntent": {)" + Field("id", kId) +
      R"(, "until": {"$date": "2099-01-01T00:00:00Z"}})");
  const AcquireOp share = things_.Share(key_, NewUuid());
  EXPECT_EQ(share.status, OpStatus::kDone) << Why(share);
  EXPECT_TRUE(share.result.body.json().contains("lockIntent"));
}

}  // namespace
}  // namespace doclock::mongo_test
