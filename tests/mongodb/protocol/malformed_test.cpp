/// Lock fields that this library does not write: a typed error, never a free document, and no
/// effect on other documents.

#include <gtest/gtest.h>

#include "conformance/suite/store_conformance.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using conformance::Client;
using conformance::FreshId;
using conformance::Json;
using conformance::MakeBody;

struct Malformed {
  const char* name;
  const char* fields;  ///< Extended JSON
};

// An id that is one, and times in the past and to come.
#define DOCLOCK_ID \
  R"("lockId": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}})"
#define DOCLOCK_PAST R"("lockTime": {"$date": {"$numberLong": "1000"}})"
// A lock that was shared, and a share of it that is over.
#define DOCLOCK_SHARED                                                                               \
  R"("lockId": {"$binary": {"base64": "ZG9jbG9jSwCAAHNoYXJlZA==", "subType": "04"}}, )" DOCLOCK_PAST \
  R"(, "lockTtl": 1, )"
#define DOCLOCK_READER_ID \
  R"("id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}})"
#define DOCLOCK_READER \
  "{" DOCLOCK_READER_ID R"(, "time": {"$date": {"$numberLong": "1000"}}, "ttl": 1})"

constexpr Malformed kMalformed[] = {
    {"IdIsAnInteger", R"("lockId": 5, )" DOCLOCK_PAST},
    {"IdIsAString", R"("lockId": "me", )" DOCLOCK_PAST},
    {"IdIsAnEmptyString", R"("lockId": "", )" DOCLOCK_PAST},
    {"IdIsFalse", R"("lockId": false)"},
    {"IdIsAnArrayOfNull", R"("lockId": [null])"},
    {"IdIsAnEmptyArray", R"("lockId": [])"},
    {"IdIsAnArrayOfOne",
     R"("lockId": [{"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}], )"
     R"("lockTime": {"$date": "2200-01-01T00:00:00Z"}, "lockTtl": 60000)"},
    {"IdIsAnObject", R"("lockId": {"a": 1})"},
    {"IdIsShortBinary",
     R"("lockId": {"$binary": {"base64": "AAAA", "subType": "04"}}, )" DOCLOCK_PAST},
    {"IdIsBinaryOfAnotherKind",
     R"("lockId": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "00"}}, )" DOCLOCK_PAST},
    {"OwnerIsAStringWithoutAnId", R"("lockOwner": "alice")"},
    {"OwnerIsAnArrayWithoutAnId", R"("lockId": null, "lockOwner": [{"name": "alice"}])"},
    {"TimeIsMissing", DOCLOCK_ID},
    {"TimeIsNull", DOCLOCK_ID R"(, "lockTime": null)"},
    {"TimeIsAnInteger", DOCLOCK_ID R"(, "lockTime": 1000)"},
    {"TimeIsAString", DOCLOCK_ID R"(, "lockTime": "1970-01-01")"},
    {"TimeIsATimestamp", DOCLOCK_ID R"(, "lockTime": {"$timestamp": {"t": 1, "i": 1}})"},
    {"TimeIsAnArray", DOCLOCK_ID R"(, "lockTime": [{"$date": {"$numberLong": "1000"}}])"},
    {"TtlIsAString", DOCLOCK_ID ", " DOCLOCK_PAST R"(, "lockTtl": "30000")"},
    {"TtlIsADouble", DOCLOCK_ID ", " DOCLOCK_PAST R"(, "lockTtl": 1.5)"},
    {"TtlIsNegative", DOCLOCK_ID ", " DOCLOCK_PAST R"(, "lockTtl": -1)"},
    {"TtlIsAnArray", DOCLOCK_ID ", " DOCLOCK_PAST R"(, "lockTtl": [1])"},
    {"TtlIsTheLargest",
     DOCLOCK_ID ", " DOCLOCK_PAST R"(, "lockTtl": {"$numberLong": "9223372036854775807"})"},
    {"VersionIsADouble", R"("lockId": null, "lockVersion": 3.0)"},
    {"VersionIsAString", R"("lockId": null, "lockVersion": "3")"},
    {"VersionIsAnArray", R"("lockId": null, "lockVersion": [3])"},
    {"VersionIsNull", R"("lockId": null, "lockVersion": null)"},
    {"VersionIsADecimal", R"("lockId": null, "lockVersion": {"$numberDecimal": "3"})"},
    {"VersionIsNegative", R"("lockId": null, "lockVersion": -1)"},
    {"VersionIsTheLargest",
     R"("lockId": null, "lockVersion": {"$numberLong": "9223372036854775807"})"},
    {"VersionIsADoubleUnderAnExpiredLock",
     DOCLOCK_ID ", " DOCLOCK_PAST R"(, "lockTtl": 1, "lockVersion": 3.0)"},
    {"ReadersAreAString", R"("lockId": null, "lockReaders": "me")"},
    {"ReadersAreADocument", R"("lockId": null, "lockReaders": {"0": 1})"},
    {"ReadersAreNumbers", DOCLOCK_SHARED R"("lockReaders": [1, 2])"},
    {"ReadersAreNested", DOCLOCK_SHARED R"("lockReaders": [[)" DOCLOCK_READER "]]"},
    {"ReadersAreMissing", DOCLOCK_SHARED R"("m": 1)"},
    {"ReadersAreNull", DOCLOCK_SHARED R"("lockReaders": null)"},
    {"AReaderIsNull", DOCLOCK_SHARED R"("lockReaders": [)" DOCLOCK_READER ", null]"},
    {"AReaderIsEmpty", DOCLOCK_SHARED R"("lockReaders": [)" DOCLOCK_READER ", {}]"},
    {"AReadersIdIsAString", DOCLOCK_SHARED
     R"("lockReaders": [{"id": "a", "time": {"$date": {"$numberLong": "1000"}}, "ttl": 1}])"},
    {"AReadersTimeIsAnInteger",
     DOCLOCK_SHARED R"("lockReaders": [{)" DOCLOCK_READER_ID R"(, "time": 1000, "ttl": 1}])"},
    {"AReadersTtlIsADouble",
     DOCLOCK_SHARED R"("lockReaders": [{)" DOCLOCK_READER_ID
                    R"(, "time": {"$date": {"$numberLong": "1000"}}, "ttl": 1.5}])"},
    {"AReadersTtlIsMissing", DOCLOCK_SHARED R"("lockReaders": [{)" DOCLOCK_READER_ID
                                            R"(, "time": {"$date": {"$numberLong": "1000"}}}])"},
};

void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.name; }

class MalformedLock : public ::testing::TestWithParam<Malformed> {
 protected:
  MalformedLock() {
    documents_.Insert("things",
                      std::string(R"({"_id": "bad", "n": 1, )") + GetParam().fields + "}");
    for (const char* neighbour : {"aa", "zz"}) things_.Insert(neighbour, {{"n", 1}});
    before_ = documents_.Find("things", "bad");
  }
  void ExpectUntouched() {
    const BsonPtr after = documents_.Find("things", "bad");
    ASSERT_TRUE(after);
    EXPECT_TRUE(bson_equal(after.get(), before_.get())) << Canonical(*after);
  }
  /// @param queue_for how long it waits
  AcquireOp Attempt(const Key& key, LockMode mode, std::chrono::milliseconds queue_for,
                    bool queue_likely) {
    return things_.Acquire(key, {.insert = MakeBody({{"n", 2}}),
                                 .mode = mode,
                                 .queue_for = queue_for,
                                 .queue_likely = queue_likely});
  }
  RenewOp RenewShare(const Key& key) { return things_.RenewShare(key, Reader()); }
  WriteOp ReleaseShare(const Key& key) { return things_.ReleaseShare(key, Reader()); }
  /// The id of the readers above.
  static Uuid Reader() {
    Uuid id{};
    *(id.end() - 1) = 1;
    return id;
  }
  static void ExpectTyped(const StoreOp& op) {
    ASSERT_EQ(op.status, OpStatus::kFailed);
    ASSERT_TRUE(op.detail);
    EXPECT_EQ(op.detail->code, Errc::kMalformed);
    EXPECT_NE(op.detail->message.find("(lock"), std::string::npos) << "no field is named";
  }

  mongo_test::Database documents_;
  std::shared_ptr<Store> store_ = OpenMongodbStore(documents_.uri());
  Client things_{store_};
  BsonPtr before_{nullptr, &bson_destroy};
};

TEST_P(MalformedLock, IsNeverGranted) {
  ExpectTyped(things_.Acquire("bad"));
  const Body insert = MakeBody({{"n", 2}});
  ExpectTyped(things_.Acquire("bad", {.insert = insert}));
  ExpectTyped(things_.Acquire("bad", {.insert = insert, .min_hold = std::chrono::milliseconds(1)}));
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    for (const bool queue_likely : {false, true}) {
      ExpectTyped(Attempt("bad", mode, {}, queue_likely));
      ExpectTyped(Attempt("bad", mode, conformance::kTtl, queue_likely));
    }
  }
  ExpectUntouched();
}

TEST_P(MalformedLock, IsNeverWritten) {
  ExpectTyped(things_.Renew("bad", FreshId()));
  ExpectTyped(things_.Renew("bad", Reader()));
  ExpectTyped(RenewShare("bad"));
  ExpectTyped(ReleaseShare("bad"));
  ExpectTyped(things_.Release("bad", FreshId(), {.expected = 3}));
  ExpectTyped(things_.Replace("bad", 3, {}, {{"n", 2}}));
  ExpectTyped(things_.Erase("bad"));
  ExpectTyped(things_.Read("bad"));
  EXPECT_EQ(things_.Purge(), 0);
  ExpectUntouched();
}

/// MongoDB's equality looks into arrays.
TEST(MalformedLocks, OfAnIdInAnArrayAreNobodys) {
  mongo_test::Database documents;
  const auto store = OpenMongodbStore(documents.uri());
  Client things{store};
  const AcquireOp grant = things.Create("held", {{"n", 1}});
  mongodb::Doc set;
  set.Add("lockId", mongodb::Array().Add(grant.request.grant.lock_id));
  documents.Update("things", "held", Canonical(*mongodb::Doc::Of("$set", set).get()));
  for (const std::int64_t version : {grant.result.version, kAnyVersion}) {
    for (const WriteKind kind : {WriteKind::kCheckpoint, WriteKind::kRelease, WriteKind::kErase}) {
      const WriteOp op =
          things.Write("held", kind, grant.request.grant.lock_id, {.expected = version});
      ASSERT_EQ(op.status, OpStatus::kFailed) << version;
      EXPECT_EQ(op.detail->code, Errc::kMalformed) << version;
    }
  }
}

/// A double that equals the version its holder knows is not that version.
TEST(MalformedVersion, EndsItsHoldersRightToWrite) {
  mongo_test::Database documents;
  const std::shared_ptr<Store> store = OpenMongodbStore(documents.uri());
  Client things{store};
  const AcquireOp grant = things.Create("held", {{"n", 1}});
  documents.Update("things", "held", R"({"$set": {"lockVersion": 1.0}})");
  const WriteOp release = things.Release("held", grant, MakeBody({{"n", 2}}));
  ASSERT_EQ(release.status, OpStatus::kFailed);
  EXPECT_EQ(release.detail->code, Errc::kMalformed);
  EXPECT_EQ(things.Release("held", grant.request.grant.lock_id).status, OpStatus::kFailed);
}

TEST(MalformedLocks, OfAKnownVersionAreReleasedByTheirHolder) {
  mongo_test::Database documents;
  const auto store = OpenMongodbStore(documents.uri());
  Client things{store};
  for (const char* spoilt : {R"({"$set": {"lockBorn": "x"}})", R"({"$set": {"lockReleased": 5}})",
                             R"({"$set": {"lockTime": "x"}})"}) {
    const Key key(spoilt);
    const AcquireOp grant = things.Create(key, {{"n", 1}});
    documents.Update("things", key, spoilt);
    EXPECT_EQ(things.Release(key, grant, MakeBody({{"n", 2}})).status, OpStatus::kDone) << spoilt;
  }
}

TEST_P(MalformedLock, IsSkippedByTheNextSearchAndIsNotFree) {
  EXPECT_EQ(things_.AcquireNext(Filter{}.OrderBy("n")).key, Key("aa"));
  EXPECT_EQ(things_.AcquireNext(Filter{}.OrderBy("n")).key, Key("zz"));
  EXPECT_EQ(things_.AcquireNext(Filter{}.OrderBy("n")).status, OpStatus::kMissing);
  EXPECT_TRUE(things_.Query(Filter{}.Free()).empty());
  ExpectUntouched();
}

TEST_P(MalformedLock, FailsNoNeighbourInTheBatch) {
  const Key a("aa"), bad("bad"), z("zz");
  AcquireOp first = things_.AcquireOf(a), spoilt = things_.AcquireOf(bad);
  AcquireOp last = things_.AcquireOf(z);
  things_.Execute({&first, &spoilt, &last});
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(last.status, OpStatus::kDone);
  ExpectTyped(spoilt);

  RenewOp renewed = things_.RenewOf(a, first.request.grant.lock_id);
  RenewOp refused = things_.RenewOf(bad, spoilt.request.grant.lock_id);
  RenewOp too = things_.RenewOf(z, last.request.grant.lock_id);
  things_.Execute({&renewed, &refused, &too});
  EXPECT_EQ(renewed.status, OpStatus::kDone);
  EXPECT_EQ(too.status, OpStatus::kDone);
  EXPECT_NE(refused.status, OpStatus::kDone);
  ExpectUntouched();
}

INSTANTIATE_TEST_SUITE_P(Fields, MalformedLock, ::testing::ValuesIn(kMalformed),
                         [](const auto& test) { return test.param.name; });

#undef DOCLOCK_ID
#undef DOCLOCK_PAST
#undef DOCLOCK_SHARED
#undef DOCLOCK_READER_ID
#undef DOCLOCK_READER

}  // namespace
}  // namespace doclock::mongo_docs_test
