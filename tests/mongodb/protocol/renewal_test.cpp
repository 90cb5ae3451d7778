// Renewals that match nothing, whose documents show a moment later that the locks are live.

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

/// What a primary that was replaced answers, and then its successor: the lock is granted between
/// the two.
class MongoRenewal : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kLong = 5min;

  void SetUp() override {
    const AcquireOp held = others_.Acquire(key_, NewUuid(), Counted(1));
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    others_.Break(key_);
    pool_.Take();
  }

  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client things_{OpenMongodbStore(pool_.get(), database_.name())};
  Client others_{OpenMongodbStore(database_.uri())};
  const Key key_{"a"};
  const Uuid id_ = NewUuid();
};

TEST_F(MongoRenewal, OfALockThatALookShowsToBeLiveIsSentAgain) {
  pool_.BeforeNext("find", [&] { others_.Acquire(key_, id_); });
  const RenewOp renewal = things_.Renew(key_, id_, kLong);
  EXPECT_EQ(renewal.status, OpStatus::kDone) << Why(renewal);
  EXPECT_EQ(pool_.Take(), "find 1, update 2");
  EXPECT_GT(others_.Read(key_).result.remaining, kTtl) << "it is stored";
}

TEST_F(MongoRenewal, OfAShareThatALookShowsToBeLiveIsSentAgain) {
  pool_.BeforeNext("find", [&] { others_.Share(key_, id_); });
  const RenewOp renewal = things_.RenewShare(key_, id_, kLong);
  EXPECT_EQ(renewal.status, OpStatus::kDone) << Why(renewal);
  EXPECT_EQ(pool_.Take(), "find 1, update 2");
  EXPECT_GT(others_.Read(key_).result.remaining, kTtl) << "it is stored";
}

TEST_F(MongoRenewal, ThatKeepsMatchingNothingIsInDoubt) {
  std::function<void()> take, drop;
  take = [&] {
    others_.Acquire(key_, id_);
    pool_.BeforeNext("update", drop);
  };
  drop = [&] {
    others_.Break(key_);
    pool_.BeforeNext("find", take);
  };
  pool_.BeforeNext("find", take);
  const RenewOp renewal = things_.Renew(key_, id_, kLong);
  EXPECT_EQ(renewal.status, OpStatus::kInDoubt) << Why(renewal);
  EXPECT_EQ(pool_.Take(), "find 4, update 4");
}

/// The server counts documents, not shares.
TEST_F(MongoRenewal, OfSharesOfOneDocumentIsStoredForThoseThatAreLive) {
  const Uuid lost = NewUuid(), twice = NewUuid();
  ASSERT_EQ(others_.Share(key_, id_).status, OpStatus::kDone);
  ASSERT_EQ(others_.Share(key_, twice).status, OpStatus::kDone);
  Batch calls(things_);
  std::vector<RenewOp*> ops;
  for (const Uuid& id : {id_, lost, twice, twice}) {
    ops.push_back(&calls.Renew("a", id, kLong));
    ops.back()->request.mode = LockMode::kShared;
  }
  calls.Execute();
  for (const RenewOp* op : ops) {
    EXPECT_EQ(op->status, op->request.lock_id == lost ? OpStatus::kLost : OpStatus::kDone)
        << Why(*op);
  }
  EXPECT_EQ(pool_.Take(), "find 1, update 2");
  ASSERT_EQ(others_.ReleaseShare(key_, twice).status, OpStatus::kDone);
  EXPECT_GT(others_.Read(key_).result.remaining, kTtl) << "the other's lease is left";
}

}  // namespace
}  // namespace doclock::mongo_test
