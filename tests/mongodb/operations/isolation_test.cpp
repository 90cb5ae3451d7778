#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "doclock/doclock.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/raw_server.h"
#include "mongodb/support/user_transaction.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Array;
using mongodb::Doc;

/// Whatever happens to one caller's request, its neighbours in the same command do not notice.
class Isolation : public ::testing::Test {
 protected:
  AcquireOp Held(const std::string& key) {
    Batch calls(things_);
    AcquireOp& op = calls.Acquire(key, Counted(1));
    calls.Execute();
    EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
    AcquireOp held(things_.collection(), keys_.emplace_back(key));
    held.request.grant = op.request.grant;
    held.result.version = op.result.version;
    held.result.born = op.result.born;
    return held;
  }
  AcquireOp Free(const std::string& key) {
    AcquireOp held = Held(key);
    Batch calls(things_);
    WriteOp& op = calls.Write(WriteKind::kRelease, key, held);
    calls.Execute();
    EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
    held.result.version = op.result.version;
    return held;
  }
  void Set(const std::string& key, const Doc& fields) {
    database_.Update("things", Doc::Of("_id", std::string_view(key)), Doc::Of("$set", fields));
  }

  Database database_{SetUri()};
  Client things_{OpenMongodbStore(database_.uri())};
  std::deque<Key> keys_;
};

TEST_F(Isolation, AWriteThatTheServerRefusesSpoilsNoOther) {
  const AcquireOp released = Held("released"), refused = Held("refused");
  const AcquireOp saved = Free("saved");
  Doc validator;
  validator.Add("collMod", "things").Add("validator", Doc::Of("n", Doc::Of("$ne", 13)));
  database_.Run(validator);
  Batch calls(things_);
  const WriteOp& a = calls.Write(WriteKind::kRelease, "released", released, Counted(2));
  const WriteOp& b = calls.Write(WriteKind::kRelease, "refused", refused, Counted(13));
  const SaveOp& c = calls.Save(SaveKind::kReplace, "saved", saved, Counted(2));
  calls.Execute();
  EXPECT_EQ(a.status, OpStatus::kDone) << Why(a);
  EXPECT_EQ(b.status, OpStatus::kFailed) << Why(b);
  EXPECT_EQ(b.detail->code, Errc::kRefused);
  EXPECT_EQ(c.status, OpStatus::kDone) << Why(c);
  EXPECT_EQ(things_.Read("refused").result.body.json(), Counted(1).json());
}

TEST_F(Isolation, ErasesAndInsertsHaveTheirOwnOutcomes) {
  const AcquireOp erased = Held("erased");
  const AcquireOp lost = Held("lost");
  things_.Steal("lost");
  const AcquireOp saved = Free("saved");
  const AcquireOp there = Free("there");
  Batch calls(things_);
  const WriteOp& a = calls.Write(WriteKind::kErase, "erased", erased);
  const WriteOp& b = calls.Write(WriteKind::kErase, "lost", lost);
  const SaveOp& c = calls.Save(SaveKind::kErase, "saved", saved);
  const SaveOp& d = calls.Save(SaveKind::kInsert, "new", saved, Counted(1));
  const SaveOp& e = calls.Save(SaveKind::kInsert, "there", there, Counted(1));
  const SaveOp& f = calls.Save(SaveKind::kInsert, "newer", saved, Counted(1));
  calls.Execute();
  EXPECT_EQ(a.status, OpStatus::kDone) << Why(a);
  EXPECT_EQ(b.status, OpStatus::kLost) << Why(b);
  EXPECT_EQ(c.status, OpStatus::kDone) << Why(c);
  EXPECT_EQ(d.status, OpStatus::kDone) << Why(d);
  EXPECT_EQ(e.status, OpStatus::kConflict) << Why(e);
  EXPECT_EQ(f.status, OpStatus::kDone) << Why(f);
  EXPECT_EQ(things_.Read("erased").status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("saved").status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("newer").result.version, 1);
}

/// Between the command and the look that tells its outcomes.
TEST_F(Isolation, WritesOfADocumentThatIsMadeAnewMeanwhileAreNotToldAsLost) {
  MonitoredPool pool(WithSocketTimeout(SetUri()), database_.name());
  Client watched(OpenMongodbStore(pool.get(), database_.name()));
  for (const WriteKind kind : {WriteKind::kErase, WriteKind::kRelease}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const bool erases = kind == WriteKind::kErase;
    const std::string suffix = erases ? "erased" : "released";
    const Key key("anew " + suffix), lost_key("lost " + suffix);
    AcquireOp held = Held(key.ToString());
    if (!erases) {
      // Versions that the document made anew does not reach.
      held.result.version = things_
                                .Write(key, WriteKind::kCheckpoint, held.request.grant.lock_id,
                                       {.expected = held.result.version, .body = Counted(2)})
                                .result.version;
    }
    const AcquireOp lost = Held(lost_key.ToString());
    things_.Steal(lost_key);
    things_.Steal(lost_key);
    Batch calls(watched);
    const WriteOp& op = calls.Write(kind, key.ToString(), held);
    calls.Write(kind, lost_key.ToString(), lost);
    pool.BeforeNext("find", [&] {
      if (!erases) {
        EXPECT_EQ(things_.Save(SaveKind::kErase, key).status, OpStatus::kDone);
      }
      const Uuid id = NewUuid();
      const AcquireOp made = things_.Acquire(key, id, Counted(1));
      EXPECT_TRUE(made.result.created) << Why(made);
      if (erases)
        things_.Write(key, WriteKind::kCheckpoint, id,
                      {.expected = made.result.version, .body = Counted(2)});
    });
    calls.Execute();
    // The other document proves that its erase was not the one that was counted.
    EXPECT_EQ(op.status, erases ? OpStatus::kDone : OpStatus::kInDoubt) << Why(op);
  }
}

TEST_F(Isolation, ADocumentTooLargeForTheServerIsItsOwnProblem) {
  Batch calls(things_);
  const AcquireOp& before = calls.Acquire("before", Counted(1));
  const AcquireOp& large =
      calls.Acquire("large", Body::FromJson({{"text", std::string(17u << 20, 'x')}}));
  const AcquireOp& after = calls.Acquire("after", Counted(1));
  calls.Execute();
  EXPECT_EQ(before.status, OpStatus::kDone) << Why(before);
  EXPECT_EQ(large.status, OpStatus::kFailed) << Why(large);
  EXPECT_EQ(after.status, OpStatus::kDone) << Why(after);
}

TEST_F(Isolation, ManyLargeBodiesAreSentInSeveralCommands) {
  Batch calls(things_);
  std::vector<const AcquireOp*> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(&calls.Acquire("large" + std::to_string(i),
                                 Body::FromJson({{"text", std::string(900u << 10, 'x')}})));
  }
  calls.Execute(30s);
  for (const AcquireOp* op : all) EXPECT_EQ(op->status, OpStatus::kDone) << Why(*op);
}

TEST_F(Isolation, ADocumentInAnOpenTransactionDelaysOnlyItsOwnAcquire) {
  for (int i = 0; i < 16; ++i) Free("free" + std::to_string(i));
  UserTransaction transaction(SetUri(), database_.name(), "things", "free7");
  Batch calls(things_);
  std::vector<const AcquireOp*> all;
  for (int i = 0; i < 16; ++i) all.push_back(&calls.Acquire("free" + std::to_string(i)));
  const auto took = calls.Execute(8s);
  EXPECT_LT(took, 1min) << "it waits for the transaction";
  for (int i = 0; i < 16; ++i) {
    const AcquireOp& op = *all[static_cast<std::size_t>(i)];
    EXPECT_EQ(op.status, i == 7 ? OpStatus::kFailed : OpStatus::kDone) << i << " " << Why(op);
    if (i != 7) {
      EXPECT_EQ(op.result.version, 3);
    }
  }
}

TEST_F(Isolation, DocumentsInOpenTransactionsFailNoReadOfTheirCall) {
  const AcquireOp first = Held("first"), second = Held("second");
  Free("other");
  UserTransaction one(SetUri(), database_.name(), "things", "first");
  UserTransaction two(SetUri(), database_.name(), "things", "second");
  Batch calls(things_);
  const WriteOp& left = calls.Write(WriteKind::kLeave, "first", first);
  const WriteOp& too = calls.Write(WriteKind::kLeave, "second", second);
  const ReadOp& read = calls.Read("other");
  calls.Execute(2s);
  EXPECT_EQ(read.status, OpStatus::kDone) << Why(read);
  EXPECT_NE(left.status, OpStatus::kDone);
  EXPECT_NE(too.status, OpStatus::kDone);
}

TEST_F(Isolation, ACollectionThatCannotBeReadFailsNoReadOfAnother) {
  Free("a");
  const std::shared_ptr<Collection> others = things_.store().Open("others", {}, 30s);
  const Key key("a");
  ReadOp refused(*others, key), read(things_.collection(), key);
  StoreOp* const both[] = {&refused, &read};
  const CommandFault fault{"refused", 13};
  const FailPoint point(database_, fault, {.collection = "others"});
  things_.store().Execute(both, 10s);
  EXPECT_EQ(refused.status, OpStatus::kFailed) << Why(refused);
  EXPECT_EQ(read.status, OpStatus::kDone) << Why(read);
}

TEST_F(Isolation, ADocumentInAnOpenTransactionDelaysOnlyItsOwnRenewal) {
  constexpr int kLocks = 1000;
  constexpr std::chrono::milliseconds kLease = 5min;
  Batch acquires(things_);
  std::vector<const AcquireOp*> held;
  for (int i = 0; i < kLocks; ++i) {
    held.push_back(&acquires.Acquire("held" + std::to_string(i), Counted(i)));
  }
  acquires.Execute(30s);
  UserTransaction transaction(SetUri(), database_.name(), "things", "held500");
  for (int round = 0; round < 2; ++round) {
    Batch calls(things_);
    std::vector<const RenewOp*> renewals;
    for (int i = 0; i < kLocks; ++i) {
      const Uuid& id = held[static_cast<std::size_t>(i)]->request.grant.lock_id;
      renewals.push_back(&calls.Renew("held" + std::to_string(i), id, kLease));
    }
    EXPECT_LT(calls.Execute(10s), kLease / 3) << "the next renewal would come too late";
    int done = 0;
    for (const RenewOp* op : renewals) done += op->status == OpStatus::kDone ? 1 : 0;
    EXPECT_EQ(done, kLocks - 1);
    EXPECT_EQ(renewals[500]->status, OpStatus::kInDoubt);
  }
}

/// The first ones in the order in which the server works.
TEST_F(Isolation, ManyDocumentsInAnOpenTransactionDelayOnlyTheirOwnRenewals) {
  constexpr int kLocks = 300;
  constexpr int kBlocked = 8;
  constexpr std::chrono::milliseconds kLease = 60s;
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    const std::string prefix = mode == LockMode::kShared ? "shared" : "held";
    const auto name = [&](int i) { return prefix + std::to_string(1000 + i); };
    Batch acquires(things_);
    std::vector<const AcquireOp*> held;
    for (int i = 0; i < kLocks; ++i) {
      AcquireOp& op = acquires.Acquire(name(i), Counted(i));
      op.request.grant.mode = mode;
      held.push_back(&op);
    }
    acquires.Execute(60s);
    std::list<UserTransaction> transactions;
    for (int i = 0; i < kBlocked; ++i) {
      transactions.emplace_back(SetUri(), database_.name(), "things", name(i));
    }
    // A renewal is tried at each third of its lease, and again soon if it fails.
    std::vector<int> renewed(kLocks);
    const auto some_wait = [&] { return std::ranges::count(renewed, 0) > kBlocked; };
    for (int round = 0; round < 4 && some_wait(); ++round) {
      Batch calls(things_);
      std::vector<const RenewOp*> renewals;
      for (int i = 0; i < kLocks; ++i) {
        const Uuid& id = held[static_cast<std::size_t>(i)]->request.grant.lock_id;
        RenewOp& op = calls.Renew(name(i), id, kLease);
        op.request.mode = mode;
        renewals.push_back(&op);
      }
      calls.Execute(10s);
      for (std::size_t i = 0; i < renewals.size(); ++i) {
        renewed[i] += renewals[i]->status == OpStatus::kDone ? 1 : 0;
      }
    }
    for (int i = 0; i < kLocks; ++i) {
      EXPECT_EQ(renewed[static_cast<std::size_t>(i)] > 0, i >= kBlocked) << name(i);
    }
  }
}

TEST_F(Isolation, ADocumentInALongTransactionCostsNoOtherHolderItsLock) {
  constexpr int kLocks = 1000;
  constexpr int kTouched = 500;
  LockManager manager{OpenMongodbStore(database_.uri())};
  const LockingRepository<nlohmann::json> repository{manager, "things"};
  std::vector<std::optional<Locked<nlohmann::json>>> held(kLocks);
  std::vector<std::jthread> callers;
  for (int part = 0; part < 20; ++part) {
    callers.emplace_back([&, part] {
      for (int i = part; i < kLocks; i += 20) {
        held[static_cast<std::size_t>(i)].emplace(repository.Lock(
            {"held" + std::to_string(i), nlohmann::json{{"n", i}}}, {.ttl = 10s, .wait = 10s}));
      }
    });
  }
  callers.clear();
  {
    const UserTransaction transaction(SetUri(), database_.name(), "things",
                                      "held" + std::to_string(kTouched));
    std::this_thread::sleep_for(20s);  // two leases: the transaction's length is what is shown
  }
  int lost = 0;
  for (int i = 0; i < kLocks; ++i) {
    if (i != kTouched && held[static_cast<std::size_t>(i)]->lost().stop_requested()) ++lost;
  }
  EXPECT_EQ(lost, 0);
  for (int part = 0; part < 20; ++part) {
    callers.emplace_back([&, part] {
      for (int i = part; i < kLocks; i += 20) {
        if (i == kTouched) continue;
        EXPECT_NO_THROW(held[static_cast<std::size_t>(i)]->Release());
      }
    });
  }
}

TEST_F(Isolation, CallsThatWaitForTransactionsCostNoOtherHolderItsLock) {
  constexpr int kTouched = 12;  // more than may be asked for at once
  LockManager manager{OpenMongodbStore(database_.uri())};
  const LockingRepository<nlohmann::json> repository{manager, "things"};
  for (int i = 0; i < kTouched; ++i) Free("touched" + std::to_string(i));
  const auto held = repository.Lock({"held", nlohmann::json{{"n", 1}}}, {.ttl = 6s, .wait = 10s});
  std::list<UserTransaction> transactions;
  for (int i = 0; i < kTouched; ++i) {
    transactions.emplace_back(SetUri(), database_.name(), "things", "touched" + std::to_string(i));
  }
  std::vector<std::jthread> callers;
  for (int i = 0; i < kTouched; ++i) {
    callers.emplace_back([&, i](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        try {
          static_cast<void>(repository.TryLock("touched" + std::to_string(i)));
        } catch (const Error&) {
          // The store gave up on a document that a transaction has.
        }
      }
    });
  }
  std::this_thread::sleep_for(8s);  // longer than the lease: what is shown is that it lives on
  EXPECT_FALSE(held.lost().stop_requested());
  transactions.clear();
}

TEST_F(Isolation, AServerThatDoesNotAnswerBoundsACallByItsBudget) {
  const AcquireOp held = Held("a");
  Held("b");
  CommandFault fault;
  fault.block_ms = 20'000;
  FailPoint block(database_, fault, {.times = 1});
  Batch calls(things_);
  const WriteOp& released = calls.Write(WriteKind::kRelease, "a", held);
  const auto took = calls.Execute(1s);
  EXPECT_LT(took, std::chrono::milliseconds(fault.block_ms));
  EXPECT_EQ(released.status, OpStatus::kInDoubt) << Why(released);
}

}  // namespace
}  // namespace doclock::mongo_test
