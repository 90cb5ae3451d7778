// A write that is sent again, because the outcome of the first attempt is unknown, leaves the same
// fields alone as the first attempt: those that JSON cannot tell from others, and those that no
// body shows.

#include <gtest/gtest.h>

#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/raw_documents.h"

namespace doclock::mongo_test {
namespace {

using mongo_docs_test::BsonPtr;
using mongo_docs_test::Canonical;
using mongo_docs_test::RawFields;
using Things = LockingRepository<nlohmann::json>;

class MongoDoubt : public ::testing::Test {
 protected:
  /// With an int64 that an int32 could hold, a double without a fraction, and names that no body
  /// may have.
  void Put(const Key& key) {
    mongodb::Doc nested, document;
    nested.Add("small", std::int64_t{7});
    document.Add("_id", key).Add("n", 1).Add("small", std::int64_t{5}).Add("whole", 2.0);
    document.Add("nested", nested).Add("", 1).Add("a.b", 2).Add("$dollar", 3);
    database_.Insert("things", document);
  }
  BsonPtr Get(const Key& key) { return database_.Find("things", key); }
  /// All but `n` and the lock's.
  std::vector<mongo_docs_test::RawField> Others(const Key& key) {
    return RawFields(*Get(key), {"n", "lockId", "lockTime", "lockTtl", "lockVersion", "lockBorn",
                                 "lockOwner", "lockReleased", "lockFence"});
  }

  Database database_{SetUri()};
  Things things_{LockManager(OpenMongodbStore(database_.uri() + "&heartbeatFrequencyMS=500")),
                 "things",
                 {.ttl = 30s}};
};

TEST_F(MongoDoubt, SendsNoFieldThatDidNotChange) {
  const std::vector<CommandFault> faults = {
      {.name = "closed connection", .close = true},
      {.name = "NotWritablePrimary", .error_code = 10107},
      {.name = "no majority in time", .concern_code = 64},
  };
  int number = 0;
  for (const CommandFault& fault : faults) {
    SCOPED_TRACE(fault.name);
    const Key key("document " + std::to_string(++number));
    Put(key);
    const auto before = Others(key);
    ASSERT_EQ(before.size(), 7u);
    auto lock = things_.Lock(key);
    for (const bool release : {false, true}) {
      (*lock)["n"] = release ? 3 : 2;
      FailPoint point(database_, fault, {.times = 1, .commands = {"update"}});
      if (release) {
        lock.Release();
      } else {
        lock.Save();
      }
      EXPECT_EQ(point.End(), 1) << "nothing was in doubt";
      EXPECT_EQ(Others(key), before) << Canonical(*Get(key));
    }
    EXPECT_EQ((*things_.Find(key))->at("n"), 3);
    auto snapshot = things_.Find(key);
    (*snapshot)->at("n") = 4;
    const FailPoint point(database_, fault, {.times = 1, .commands = {"update"}});
    things_.Save(*snapshot);
    EXPECT_EQ(Others(key), before) << Canonical(*Get(key));
  }
}

/// It knows the entity only: see docs/reference/mongodb.md, "Types".
TEST_F(MongoDoubt, AReleaseByValueSendsEveryFieldOfTheEntityAndLeavesTheOthers) {
  Client client(OpenMongodbStore(database_.uri()));
  const Key key("a");
  const Uuid id = NewUuid();
  Put(key);
  const auto before = Others(key);
  ASSERT_EQ(client.Acquire(key, id).status, OpStatus::kDone);
  const Body entity = Body::FromJson({{"n", 2}, {"small", 5}});
  const WriteOp release = client.Release(key, id, {.body = entity, .merge = true});
  ASSERT_EQ(release.status, OpStatus::kDone) << Why(release);
  auto after = Others(key);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(after[1].name, "small");
  EXPECT_EQ(after[1].type, BSON_TYPE_INT32);
  after[1] = before[1];
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace doclock::mongo_test
