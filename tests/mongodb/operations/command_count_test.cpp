#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"

namespace doclock::mongo_test {
namespace {

/// How many commands each operation takes, on a replica set, as libmongoc's monitoring sees them.
class CommandCount : public ::testing::Test {
 protected:
  void SetUp() override {
    things_.Acquire("there", NewUuid(), Counted(1));
    pool_.Take();
  }

  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client things_{OpenMongodbStore(pool_.get(), database_.name())};
  const Key key_{"a"};
};

TEST_F(CommandCount, AMissingDocumentIsMadeAndLockedByOne) {
  const AcquireOp made = things_.Acquire(key_, NewUuid(), Counted(1));
  EXPECT_EQ(made.status, OpStatus::kDone) << Why(made);
  EXPECT_TRUE(made.result.created);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
}

TEST_F(CommandCount, AFreeDocumentIsLockedByOne) {
  const AcquireOp first = things_.Acquire(key_, NewUuid(), Counted(1));
  things_.Release(key_, first);
  pool_.Take();
  EXPECT_EQ(things_.Acquire(key_, NewUuid(), Counted(2)).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  things_.Break(key_);
  pool_.Take();
  EXPECT_EQ(things_.Acquire(key_, NewUuid()).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
}

TEST_F(CommandCount, ABusyLockIsToldByTwo) {
  things_.Acquire(key_, NewUuid(), Counted(1));
  pool_.Take();
  const AcquireOp busy = things_.Acquire(key_, NewUuid(), Counted(1));
  EXPECT_EQ(busy.status, OpStatus::kBusy) << Why(busy);
  EXPECT_EQ(pool_.Take(), "find 1, findAndModify 1");
}

/// A primary that does not know yet that it was replaced may lack the document.
TEST_F(CommandCount, AMissingDocumentIsToldByASecondLook) {
  const AcquireOp missing = things_.Acquire(key_, NewUuid());
  EXPECT_EQ(missing.status, OpStatus::kMissing) << Why(missing);
  EXPECT_EQ(pool_.Take(), "find 2, findAndModify 1");
  EXPECT_EQ(things_.Share(key_, NewUuid()).status, OpStatus::kMissing);
  EXPECT_EQ(pool_.Take(), "find 2, findAndModify 1");
}

TEST_F(CommandCount, AnExpiredLockIsTakenByThree) {
  things_.Acquire(key_, NewUuid(), Counted(1));
  things_.Expire(key_);
  pool_.Take();
  const AcquireOp taken = things_.Acquire(key_, NewUuid(), Counted(1));
  EXPECT_EQ(taken.status, OpStatus::kDone) << Why(taken);
  EXPECT_TRUE(taken.result.took_over);
  EXPECT_EQ(pool_.Take(), "find 1, findAndModify 2");
}

TEST_F(CommandCount, WritesUnderTheLockTakeOneEach) {
  const Uuid id = NewUuid();
  AcquireOp held = things_.Acquire(key_, id, Counted(1));
  pool_.Take();
  EXPECT_EQ(
      things_.Write(key_, WriteKind::kCheckpoint, id, {.expected = 1, .body = Counted(2)}).status,
      OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "update 1");
  GrantRequest next;
  next.lock_id = NewUuid();
  next.ttl = kTtl;
  EXPECT_EQ(things_.Release(key_, id, {.expected = 2, .body = Counted(3), .next = &next}).status,
            OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "update 1");
  EXPECT_EQ(things_.Release(key_, next.lock_id, {.expected = 3, .body = Counted(4)}).status,
            OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "update 1");
}

TEST_F(CommandCount, GivingALockUpTakesTwo) {
  const Uuid id = NewUuid();
  things_.Acquire(key_, id, Counted(1));
  pool_.Take();
  EXPECT_EQ(things_.Leave(key_, id).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "find 1, update 1");
  EXPECT_EQ(things_.Leave(key_, id).status, OpStatus::kLost);
  EXPECT_EQ(pool_.Take(), "find 1");
}

TEST_F(CommandCount, SharesTakeOneEachAndTheirReleasesToo) {
  const Uuid first = NewUuid(), second = NewUuid();
  const Key there("there");
  things_.Break(there);
  pool_.Take();
  EXPECT_EQ(things_.Share(there, first, 2).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1") << "free";
  EXPECT_EQ(things_.Share(there, second, 2, Counted(1)).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1") << "among shares";
  EXPECT_EQ(things_.Share(there, NewUuid(), 2, Counted(1)).status, OpStatus::kBusy);
  EXPECT_EQ(pool_.Take(), "find 1, findAndModify 1");
  EXPECT_EQ(things_.Acquire(there, NewUuid()).status, OpStatus::kBusy);
  EXPECT_EQ(pool_.Take(), "find 1, findAndModify 1");
  EXPECT_EQ(things_.RenewShare(there, first).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "update 1");
  EXPECT_EQ(things_.ReleaseShare(there, first).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  EXPECT_EQ(things_.ReleaseShare(there, second).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1") << "the last";
  EXPECT_EQ(things_.Acquire(there, NewUuid()).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1") << "nothing is left of them";
}

/// The server takes no condition on an upsert that shares need.
TEST_F(CommandCount, AMissingDocumentIsSharedByThree) {
  const AcquireOp made = things_.Share(key_, NewUuid(), 1, Counted(1));
  EXPECT_EQ(made.status, OpStatus::kDone) << Why(made);
  EXPECT_TRUE(made.result.created);
  EXPECT_EQ(pool_.Take(), "find 1, findAndModify 2");
}

/// How long a transaction keeps others away. A majority has to have it, or it may be undone.
TEST_F(CommandCount, NeighboursOfATransactionTakeOneAndAMajorityStoresAll) {
  const Key keys[] = {"a", "b", "c"};
  std::deque<WriteOp> released;
  for (const Key& key : std::span(keys).first(2)) {
    const AcquireOp held = things_.Acquire(key, NewUuid(), Counted(1));
    released.push_back(
        things_.ReleaseOf(key, held.request.grant.lock_id, {.expected = held.result.version}));
  }
  SaveOp inserted = things_.SaveOf(SaveKind::kInsert, keys[2], kAnyVersion, {}, Counted(1));
  StoreOp* const ops[] = {&released[0], &released[1], &inserted};
  pool_.Take();
  CommitOp commit{.ops = ops};
  things_.store().Commit(commit, 10s);
  EXPECT_EQ(inserted.status, OpStatus::kDone) << Why(inserted);
  EXPECT_EQ(pool_.Take(), "insert 1, update 1");
  EXPECT_NE(pool_.LastCommit().find("\"majority\""), std::string::npos) << pool_.LastCommit();
}

/// Operations on documents of their own, executed together.
class Crowd {
 public:
  explicit Crowd(Client& client, int size) : client_(client) {
    for (int i = 0; i < size; ++i) keys_.emplace_back("crowd" + std::to_string(i));
  }
  /// @return how many were done
  template <class Op, class Prepare>
  int Execute(std::deque<Op>& ops, const Prepare& prepare, std::size_t at_once = 1000) {
    std::vector<StoreOp*> all;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      prepare(ops.emplace_back(client_.collection(), keys_[i]), i);
      all.push_back(&ops.back());
    }
    for (std::size_t i = 0; i < all.size(); i += at_once) {
      const std::span<StoreOp* const> some(all);
      client_.store().Execute(some.subspan(i, std::min(at_once, all.size() - i)), client_.budget());
    }
    int done = 0;
    for (const StoreOp* op : all) done += op->status == OpStatus::kDone ? 1 : 0;
    return done;
  }
  int Acquire(std::deque<AcquireOp>& ops) {
    const auto prepare = [](AcquireOp& op, std::size_t) {
      op.request.grant.lock_id = NewUuid();
      op.request.grant.ttl = 5min;
      op.request.insert = Counted(1);
    };
    return Execute(ops, prepare, 128);
  }

 private:
  Client& client_;
  std::deque<Key> keys_;
};

TEST_F(CommandCount, ManyAcquiresTakeTwoAndManyReleasesOne) {
  Crowd crowd(things_, 32);
  std::deque<AcquireOp> made, taken, busy;
  std::deque<WriteOp> released;
  EXPECT_EQ(crowd.Acquire(made), 32);
  // A document that the command created needs no look.
  EXPECT_EQ(pool_.Take(), "update 1");
  EXPECT_EQ(crowd.Execute(released,
                          [&](WriteOp& op, std::size_t i) {
                            op.request.lock_id = made[i].request.grant.lock_id;
                            op.request.expected = made[i].result.version;
                          }),
            32);
  EXPECT_EQ(pool_.Take(), "update 1");
  EXPECT_EQ(crowd.Acquire(taken), 32);
  EXPECT_EQ(pool_.Take(), "find 1, update 1");
  EXPECT_EQ(taken.front().result.version, 3);
  EXPECT_EQ(taken.back().result.body.json(), Counted(1).json());
  EXPECT_EQ(crowd.Acquire(busy), 0);
  EXPECT_EQ(busy.front().status, OpStatus::kBusy);
  EXPECT_EQ(pool_.Take(), "find 1, update 1");
}

TEST_F(CommandCount, TenThousandRenewalsTakeTwentyAtMost) {
  Crowd crowd(things_, 10'000);
  std::deque<AcquireOp> held;
  std::deque<RenewOp> renewed;
  ASSERT_EQ(crowd.Acquire(held), 10'000);
  pool_.Take();
  EXPECT_EQ(crowd.Execute(renewed,
                          [&](RenewOp& op, std::size_t i) {
                            op.request.lock_id = held[i].request.grant.lock_id;
                            op.request.ttl = 5min;
                          }),
            10'000);
  EXPECT_LE(pool_.TakeCount(), 20);
}

TEST_F(CommandCount, AThousandSharesOfManyDocumentsAreRenewedByOne) {
  Crowd crowd(things_, 1'000);
  std::deque<AcquireOp> held;
  std::deque<RenewOp> renewed;
  ASSERT_EQ(crowd.Acquire(held), 1'000);
  std::deque<Uuid> ids;
  for (const AcquireOp& op : held) {
    things_.Break(*op.key);
    ASSERT_EQ(
        things_
            .Acquire(*op.key,
                     {.id = ids.emplace_back(NewUuid()), .ttl = 5min, .mode = LockMode::kShared})
            .status,
        OpStatus::kDone);
  }
  pool_.Take();
  EXPECT_EQ(crowd.Execute(renewed,
                          [&](RenewOp& op, std::size_t i) {
                            op.request.lock_id = ids[i];
                            op.request.ttl = 5min;
                            op.request.mode = LockMode::kShared;
                          }),
            1'000);
  EXPECT_EQ(pool_.Take(), "update 1");
}

}  // namespace
}  // namespace doclock::mongo_test
