// Collections with a layout: many locks at once, where a collection may be, and what an operator
// does there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "doclock/lock_admin.h"
#include "doclock/lock_provider.h"
#include "doclock/locking_repository.h"
#include "mongodb/layouts/distributed_lock_peer.h"
#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/user_transaction.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Doc;
using ::testing::AllOf;
using ::testing::HasSubstr;

class LayoutStoreTest : public ::testing::Test {
 protected:
  static constexpr const char* kHeld = "2200-01-01T00:00:00Z";
  static constexpr const char* kOver = "2024-01-02T00:00:00Z";

  static MongodbStoreOptions Named() {
    MongodbStoreOptions options;
    options.layouts["locks"] = "distributedlock";
    return options;
  }
  void Run(const std::string& json) { database_.Run(FromJson(json)); }
  std::shared_ptr<Store> Open() { return OpenMongodbStore(pool_.get(), database_.name(), Named()); }
  LockProvider Provider() { return LockProvider(LockManager(Open()), "locks"); }
  /// Locks of theirs with these names, all under one id.
  void Insert(const std::vector<std::string>& names, const char* until) {
    mongodb::Array documents;
    for (const std::string& name : names) {
      Doc document = FromJson(
          R"({"lockId": "0123456789abcdef0123456789abcdef",
              "acquiredAt": {"$date": "2024-01-01T00:00:00Z"}, "expiresAt": {"$date": ")" +
          std::string(until) + R"("}, "fencingToken": {"$numberLong": "1"}})");
      document.Add("_id", name);
      documents.Add(document);
    }
    database_.Insert("locks", documents);
  }
  static std::vector<std::string> Names(int count, const std::string& prefix = "job") {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(prefix + std::to_string(1000 + i));
    return names;
  }
  void Delete(const std::string& name) {
    Run(R"({"delete": "locks", "deletes": [{"q": {"_id": ")" + name + R"("}, "limit": 1}]})");
  }

  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  DistributedLockPeer peer_{SetUri(), database_.name(), "locks"};
};

class LayoutBatchTest : public LayoutStoreTest {
 protected:
  /// Locks of doclock.
  void Take(int count) {
    for (int i = 0; i < count; ++i) {
      keys_.emplace_back("job" + std::to_string(1000 + i));
      ids_.push_back(NewUuid());
      const AcquireOp op = locks_.Acquire(keys_.back(), ids_.back(), Body::FromText("{}"));
      ASSERT_EQ(op.status, OpStatus::kDone) << Why(op);
      versions_.push_back(op.result.version);
      borns_.push_back(op.result.born);
    }
    pool_.Take();
  }
  template <class Op>
  void Execute(std::deque<Op>& all) {
    std::vector<StoreOp*> ops;
    for (Op& op : all) ops.push_back(&op);
    locks_.store().Execute(ops, 10s);
  }
  std::deque<RenewOp> Renewals() {
    std::deque<RenewOp> renewals;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      renewals.push_back(locks_.RenewOf(keys_[i], ids_[i], kTtl));
    }
    return renewals;
  }
  std::deque<WriteOp> Releases() {
    std::deque<WriteOp> releases;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      releases.push_back(locks_.ReleaseOf(keys_[i], ids_[i], {.expected = versions_[i]}));
    }
    return releases;
  }

  Client locks_{Open(), "locks"};
  std::deque<Key> keys_;
  std::vector<Uuid> ids_;
  std::vector<std::int64_t> versions_;
  std::vector<Uuid> borns_;
};

TEST_F(LayoutBatchTest, LostLeasesDoNotCostTheOthersTheirs) {
  Take(5);
  auto renewals = Renewals();
  Delete("job1000");
  Run(R"({"update": "locks", "updates": [{"q": {"_id": "job1001"},
          "u": {"$set": {"expiresAt": {"$date": {"$numberLong": "1000"}}}}}]})");
  Run(R"({"update": "locks", "updates": [{"q": {"_id": "job1002"},
          "u": {"$set": {"expiresAt": 5}}}]})");
  pool_.Take();
  Execute(renewals);
  EXPECT_EQ(pool_.Take(), "find 1, update 2");
  EXPECT_EQ(renewals[0].status, OpStatus::kMissing);
  EXPECT_EQ(renewals[1].status, OpStatus::kLost);
  ASSERT_EQ(renewals[2].status, OpStatus::kFailed);
  EXPECT_EQ(renewals[2].detail->code, Errc::kMalformed);
  EXPECT_THAT(renewals[2].detail->message, HasSubstr("(expiresAt)"));
  EXPECT_EQ(renewals[3].status, OpStatus::kDone) << Why(renewals[3]);
  EXPECT_EQ(renewals[4].status, OpStatus::kDone) << Why(renewals[4]);
}

TEST_F(LayoutBatchTest, DocumentsInOpenTransactionsDelayOnlyTheirOwnRenewals) {
  Take(60);
  auto renewals = Renewals();
  const UserTransaction first(SetUri(), database_.name(), "locks", "job1000");
  const UserTransaction other(SetUri(), database_.name(), "locks", "job1030");
  for (RenewOp& op : renewals) op.request.ttl = 1min;  // a part of it is all the time there is
  Execute(renewals);
  for (const RenewOp& op : renewals) {
    const bool is_blocked = *op.key == keys_[0] || *op.key == keys_[30];
    EXPECT_EQ(op.status, is_blocked ? OpStatus::kInDoubt : OpStatus::kDone) << Why(op);
  }
}

TEST_F(LayoutBatchTest, TwoLeasesOfOneDocumentAreRenewedTogether) {
  Take(3);
  auto renewals = Renewals();
  RenewOp& former = renewals.emplace_back(locks_.collection(), keys_[1]);
  former.request.lock_id = NewUuid();
  former.request.ttl = kTtl;
  Execute(renewals);
  for (const RenewOp& op : renewals) {
    EXPECT_EQ(op.status, &op == &former ? OpStatus::kLost : OpStatus::kDone) << Why(op);
  }
}

TEST_F(LayoutBatchTest, ReleasesGoBeforeAttemptsInOneCommand) {
  Take(4);
  auto releases = Releases();
  AcquireOp attempt =
      locks_.AcquireOf(keys_.emplace_back("other"), {.insert = Body::FromText("{}")});
  std::vector<StoreOp*> ops{&attempt};
  for (WriteOp& op : releases) ops.push_back(&op);
  bool first = false;
  pool_.BeforeNext("findAndModify", [&] { first = pool_.Take() == "delete 1, findAndModify 1"; });
  locks_.store().Execute(ops, 10s);
  EXPECT_TRUE(first);
  for (const WriteOp& op : releases) EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
  EXPECT_EQ(attempt.status, OpStatus::kDone) << Why(attempt);
}

/// The server tells how many were deleted, not which.
TEST_F(LayoutBatchTest, AReleaseBesideALostOneIsInDoubtAndTheNextTellsAll) {
  Take(3);
  Delete("job1001");
  auto releases = Releases();
  Execute(releases);
  for (const WriteOp& op : releases) EXPECT_EQ(op.status, OpStatus::kInDoubt) << Why(op);
  Execute(releases);
  for (const WriteOp& op : releases) EXPECT_EQ(op.status, OpStatus::kMissing) << Why(op);
}

/// What another program has taken meanwhile does not show which release was done.
TEST_F(LayoutBatchTest, AReleaseWhoseDocumentIsTakenAnewIsInDoubtBesideALostOne) {
  Take(2);
  Delete("job1001");
  auto releases = Releases();
  for (std::size_t i = 0; i < releases.size(); ++i) releases[i].request.born = borns_[i];
  std::optional<DistributedLockPeer::Held> theirs;
  pool_.BeforeNext("find", [&] { theirs = peer_.TryAcquire("job1000", kTtl); });
  Execute(releases);
  ASSERT_TRUE(theirs);
  for (const WriteOp& op : releases) EXPECT_EQ(op.status, OpStatus::kInDoubt) << Why(op);
}

TEST_F(LayoutStoreTest, APurgeDeletesAHundredByOneCommand) {
  Insert(Names(200), kOver);
  const LockProvider locks = Provider();
  pool_.Take();
  EXPECT_EQ(locks.Admin().Purge().expired, 200);
  EXPECT_EQ(pool_.Take(), "delete 2, find 4");
}

TEST_F(LayoutStoreTest, APurgeLeavesWhatIsTakenMeanwhile) {
  Insert(Names(10), kOver);
  const LockProvider locks = Provider();
  std::optional<DistributedLockPeer::Held> theirs;
  pool_.BeforeNext("delete", [&] { theirs = peer_.TryAcquire("job1003", kTtl); });
  EXPECT_EQ(locks.Admin().Purge().expired, 9);
  ASSERT_TRUE(theirs);
  EXPECT_TRUE(peer_.Renew("job1003", *theirs, kTtl));
  EXPECT_EQ(locks.Admin().Status().size(), 1U);
}

/// Their TTL index deletes the same documents.
TEST_F(LayoutStoreTest, APurgeDoesNotCountWhatOthersMayHaveDeleted) {
  Insert(Names(10), kOver);
  const LockProvider locks = Provider();
  pool_.BeforeNext("delete", [&] { Delete("job1003"); });
  EXPECT_EQ(locks.Admin().Purge().expired, 0);
  EXPECT_TRUE(locks.Admin().Status().empty());
}

TEST_F(LayoutStoreTest, AListEndsWithNamesThatHoldAZeroByte) {
  Insert(Names(1001, std::string("a\0", 2)), kHeld);
  const auto listed = Provider().Admin().Status();
  std::set<std::string> names;
  for (const LockStatus& lock : listed) names.insert(lock.name);
  EXPECT_EQ(names.size(), 1001U);
}

/// The server ends an answer at 16 MB. Names may be longer there than keys: these are not shown.
TEST_F(LayoutStoreTest, AListGoesOnWhereAnAnswerIsFull) {
  const std::string long_name(400'000, 'a');
  for (int i = 0; i < 3; ++i) Insert(Names(20, long_name + std::to_string(i)), kHeld);
  Insert({"job"}, kHeld);
  const auto listed = Provider().Admin().Status();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].name, "job");
}

class LayoutPlaceTest : public LayoutStoreTest {
 protected:
  static std::string Refusal(const std::string& uri, const MongodbStoreOptions& options = Named()) {
    try {
      static_cast<void>(OpenMongodbStore(uri, options)->Open("locks", {}, kTtl));
    } catch (const StoreException& error) {
      return error.errc() == Errc::kRefused ? error.what() : "another code";
    }
    return "opened";
  }
};

TEST_F(LayoutPlaceTest, IsRefusedWhereTheServerDeletesHeldLocks) {
  const std::map<std::string, std::string> bad = {
      {R"({"create": "locks", "capped": true, "size": 10000})", "is capped"},
      {R"({"create": "locks", "collation": {"locale": "en", "strength": 2}})",
       "has a default collation (locale en"},
      {R"({"create": "locks", "viewOn": "others", "pipeline": []})", "is a view"},
      {R"({"create": "locks", "timeseries": {"timeField": "t"}})", "is a time series"},
      {R"({"createIndexes": "locks", "indexes": [{"key": {"acquiredAt": 1}, "name": "old",
           "expireAfterSeconds": 60}]})",
       "has the TTL index old over acquiredAt"}};
  for (const auto& [command, text] : bad) {
    Run(command);
    EXPECT_THAT(Refusal(database_.uri()), HasSubstr("the collection locks " + text));
    Run(R"({"drop": "locks"})");
  }
  peer_.MakeIndexes();
  EXPECT_EQ(Refusal(database_.uri()), "opened");
  EXPECT_THAT(Refusal(WithDatabase(SetUri(), "local")), HasSubstr("the database local"));
}

TEST_F(LayoutPlaceTest, IsRefusedWhereLocksHaveAnotherLayout) {
  const LockManager without(OpenMongodbStore(database_.uri()));
  const HeldLock held = LockProvider(without, "locks").Acquire("job");
  EXPECT_THAT(Refusal(database_.uri()), HasSubstr("holds locks of doclock without a layout"));
  Run(R"({"drop": "locks"})");
  peer_.MakeIndexes();
  MongodbStoreOptions java;
  java.layouts["locks"] = "pessimisticlock";
  EXPECT_THROW(static_cast<void>(OpenMongodbStore(database_.uri(), java)->Open("locks", {}, kTtl)),
               StoreException)
      << "their releases leave nothing but the index";
}

TEST_F(LayoutPlaceTest, IsExamined) {
  const auto store = Open();
  const auto collection = store->Open("locks", {}, kTtl);
  const auto level_of = [&](const std::string& text) {
    for (const Finding& one : store->Examine(collection.get(), 10s)) {
      if (one.text.find(text) != std::string::npos) return std::optional(one.level);
    }
    return std::optional<FindingLevel>();
  };
  Insert({"job"}, kHeld);
  EXPECT_EQ(level_of("expired locks are not deleted"), FindingLevel::kWarning);
  EXPECT_EQ(level_of("the server asks for no user"), FindingLevel::kOk);
  peer_.MakeIndexes();
  EXPECT_EQ(level_of("the server deletes expired locks"), FindingLevel::kOk);
  Run(R"({"createIndexes": "locks", "indexes": [{"key": {"acquiredAt": 1}, "name": "old",
          "expireAfterSeconds": 60}]})");
  EXPECT_EQ(level_of("has the TTL index old"), FindingLevel::kProblem);
}

TEST_F(LayoutPlaceTest, TheirIndexMayDiffer) {
  Run(R"({"createIndexes": "locks", "indexes": [{"key": {"expiresAt": 1}, "name": "expiresAt_ttl",
          "expireAfterSeconds": 60}]})");
  EXPECT_NO_THROW(Provider().EnsureIndexes());
}

TEST_F(LayoutPlaceTest, AnIndexOfTheNameOfTheirsOverAnotherFieldIsNamed) {
  const auto make = [&](const std::string& rest) {
    Run(R"({"createIndexes": "locks", "indexes": [{"name": "expiresAt_ttl", "key": )" + rest +
        "}]}");
  };
  make(R"({"made": 1, "by": 1})");
  const std::string text =
      "the collection locks has the index expiresAt_ttl over made, by in place of one over "
      "expiresAt; drop this index, or make it anew under another name";
  try {
    Provider().EnsureIndexes();
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
  Run(R"({"drop": "locks"})");
  make(R"({"made": 1}, "expireAfterSeconds": 0)");
  EXPECT_THAT(Refusal(database_.uri()),
              HasSubstr("has the TTL index expiresAt_ttl over made and not over expiresAt"));
  EXPECT_EQ(Refusal(database_.uri(), {}), "opened") << "it is the user's own";
  Run(R"({"drop": "locks"})");
  make(R"({"expiresAt": 1}, "expireAfterSeconds": 0)");
  EXPECT_THAT(Refusal(database_.uri(), {}),
              AllOf(HasSubstr("has the TTL index expiresAt_ttl over expiresAt, which is that of "
                              "DistributedLock.MongoDB"),
                    HasSubstr("if the index is your own, drop it")));
}

TEST_F(LayoutPlaceTest, HoldsNoDocumentsAndNothingToForget) {
  const LockManager manager(Open());
  const auto refusal = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const StoreException& error) {
      return error.errc() == Errc::kRefused ? error.what() : "another code";
    }
    return "done";
  };
  EXPECT_THAT(refusal([&] { LockingRepository<nlohmann::json>(manager, "locks"); }),
              HasSubstr("which has no bodies"));
  Insert({"job"}, kOver);
  const LockProvider locks(manager, "locks");
  PurgeOptions forget;
  forget.forget = true;
  forget.idle_for = 1ms;
  EXPECT_THAT(refusal([&] { locks.Admin().Purge(forget); }), HasSubstr("is forgotten"));
  EXPECT_EQ(locks.Admin().Status().size(), 1U) << "nothing was purged";
}

}  // namespace
}  // namespace doclock::mongo_test
