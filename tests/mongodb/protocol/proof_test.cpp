// Statements that share a command, and documents that others erase, make anew and move on before
// the look at what it has done: nothing is told without a proof, and nothing comes back.

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <ostream>
#include <string>
#include <thread>

#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/raw_server.h"
#include "mongodb/support/user_transaction.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Doc;

/// The key of a document that a foreign transaction holds: the command runs out of time there.
/// The last of a batch, which is sent in the order of keys.
constexpr const char* kBlocked = "z-blocked";
constexpr std::chrono::milliseconds kShort = 8s;

enum class Deed : std::uint8_t { kGrant, kCheckpoint, kRelease, kHandOver };
constexpr std::array kDeeds = {Deed::kGrant, Deed::kCheckpoint, Deed::kRelease, Deed::kHandOver};
std::ostream& operator<<(std::ostream& out, Deed deed) {
  static constexpr std::array kNames = {"grant", "checkpoint", "release", "hand-over"};
  return out << kNames.at(static_cast<std::size_t>(deed));
}

bool IsUndecided(const StoreOp& op) { return op.status == OpStatus::kInDoubt; }

class MongoProof : public ::testing::Test {
 protected:
  AcquireOp Held(const std::string& name) {
    const Key& key = keys_.emplace_back(name);
    const Uuid id = NewUuid();
    AcquireOp op = things_.Acquire(key, id, Counted(1));
    EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
    return op;
  }
  AcquireOp Free(const std::string& name) {
    AcquireOp op = Held(name);
    const WriteOp release = things_.Release(*op.key, op, Counted(1));
    EXPECT_EQ(release.status, OpStatus::kDone) << Why(release);
    op.result.version = release.result.version;
    return op;
  }
  /// By the lock id and the version of `known`.
  const StoreOp& Ask(Batch& calls, Deed deed, const std::string& name, const AcquireOp& known,
                     int n) {
    if (deed == Deed::kGrant) {
      AcquireOp& op = calls.Acquire(name);
      op.request.grant.lock_id = known.request.grant.lock_id;
      return op;
    }
    const WriteKind kind = deed == Deed::kCheckpoint ? WriteKind::kCheckpoint : WriteKind::kRelease;
    WriteOp& op = calls.Write(kind, name, known, Counted(n));
    if (deed == Deed::kHandOver) op.request.next = &next_;
    return op;
  }
  std::int64_t CountOf(const Doc& filter) {
    Doc command;
    command.Add("count", "things").Add("query", filter);
    std::int64_t count = 0;
    database_.Run(command, [&](const bson_t& reply) {
      bson_iter_t n;
      if (bson_iter_init_find(&n, &reply, "n")) count = bson_iter_as_int64(&n);
    });
    return count;
  }
  /// Sends nothing that a fail point for "find" meets.
  void WaitFor(const Key& key, int n, std::int64_t count) {
    Doc filter;
    filter.Add("_id", key).Add("n", n);
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (CountOf(filter) != count && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(5ms);
    }
    ASSERT_EQ(CountOf(filter), count);
  }
  void MakeAnew(const Key& key) {
    const SaveOp erase = others_.Save(SaveKind::kErase, key);
    EXPECT_EQ(erase.status, OpStatus::kDone) << Why(erase);
    Make(key);
  }
  Uuid Make(const Key& key) {
    const SaveOp insert = others_.Save(SaveKind::kInsert, key, 0, {}, Counted(7));
    EXPECT_EQ(insert.status, OpStatus::kDone) << Why(insert);
    return insert.result.born;
  }
  void Move(const Key& key, const Uuid& born, std::int64_t from) {
    const SaveOp save = others_.Save(SaveKind::kReplace, key, from, born, Counted(8));
    EXPECT_EQ(save.status, OpStatus::kDone) << Why(save);
  }

  Database database_{SetUri()};
  std::deque<Key> keys_;
  const GrantRequest next_{.lock_id = NewUuid(), .ttl = kTtl};
  Client things_{OpenMongodbStore(database_.uri())};
  Client others_{OpenMongodbStore(database_.uri())};
};

class MongoProofOfTwo : public MongoProof {
 protected:
  /// The command runs out of time before it does anything, and is sent again, for each statement;
  /// before that another client moves "moved".
  void Execute(Batch& calls, const std::string& command, const AcquireOp& moved) {
    FailPoint late(database_, {.name = "MaxTimeMSExpired", .error_code = 50},
                   {.times = 1, .commands = {std::string_view(command)}});
    pool_.BeforeNext("find", [&] {
      pool_.BeforeNext(command, [&] { Move("moved", moved.result.born, moved.result.version); });
    });
    calls.Execute();
  }

  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client monitored_{OpenMongodbStore(pool_.get(), database_.name())};
};

TEST_F(MongoProof, AnInsertThatMayHaveBeenDoneIsNotSentAgain) {
  const AcquireOp any = Free("any");  // makes the collection
  const UserTransaction transaction(SetUri(), database_.name(), "things", kBlocked);
  Batch calls(things_);
  const SaveOp& erased = calls.Save(SaveKind::kInsert, "erased", any, Counted(1));
  const SaveOp& anew = calls.Save(SaveKind::kInsert, "anew", any, Counted(1));
  const SaveOp& blocked = calls.Save(SaveKind::kInsert, kBlocked, any, Counted(1));
  {
    const std::jthread caller([&] { calls.Execute(kShort); });
    WaitFor("erased", 1, 1);
    WaitFor("anew", 1, 1);
    EXPECT_EQ(others_.Save(SaveKind::kErase, "erased").status, OpStatus::kDone);
    MakeAnew("anew");
  }
  EXPECT_TRUE(IsUndecided(erased)) << Why(erased);
  EXPECT_TRUE(IsUndecided(anew)) << Why(anew);
  EXPECT_TRUE(IsUndecided(blocked)) << Why(blocked);
  EXPECT_EQ(things_.Read("erased").status, OpStatus::kMissing) << "it came back";
}

TEST_F(MongoProof, AnAcquireThatMayHaveMadeItsDocumentDoesNotMakeItAgain) {
  Free("any");
  const UserTransaction transaction(SetUri(), database_.name(), "things", kBlocked);
  Batch calls(things_);
  const AcquireOp& erased = calls.Acquire("erased", Counted(1));
  calls.Acquire(kBlocked, Counted(1));
  {
    const std::jthread caller([&] { calls.Execute(kShort); });
    WaitFor("erased", 1, 1);
    others_.Break("erased");
    EXPECT_EQ(others_.Save(SaveKind::kErase, "erased").status, OpStatus::kDone);
  }
  EXPECT_TRUE(IsUndecided(erased)) << Why(erased);
  EXPECT_EQ(things_.Read("erased").status, OpStatus::kMissing) << "it came back";
}

TEST_F(MongoProof, AnEraseWhoseDocumentIsGoneIsNotTakenForItsOwn) {
  const AcquireOp held = Held("held"), gone = Free("gone"), known = Free(kBlocked);
  ASSERT_EQ(others_.Save(SaveKind::kErase, "gone").status, OpStatus::kDone);
  const UserTransaction transaction(SetUri(), database_.name(), "things", kBlocked);
  Batch calls(things_);
  const SaveOp& vain = calls.Save(SaveKind::kErase, "gone", gone);
  const WriteOp& erased = calls.Write(WriteKind::kErase, "held", held);
  const SaveOp& blocked = calls.Save(SaveKind::kErase, kBlocked, known);
  calls.Execute(kShort);
  EXPECT_TRUE(IsUndecided(vain)) << Why(vain);
  EXPECT_TRUE(IsUndecided(erased)) << Why(erased);
  EXPECT_TRUE(IsUndecided(blocked)) << Why(blocked);
  EXPECT_EQ(things_.Read("held").status, OpStatus::kMissing);
}

TEST_F(MongoProof, AWriteIsNotLostBecauseItsDocumentWasMadeAnew) {
  const AcquireOp lost = Held("lost"), released = Held("released"), saved = Free("saved");
  things_.Break("lost");
  AcquireOp conflict = Free("conflict");
  conflict.result.version = 7;
  const AcquireOp stolen = Held("stolen"), erased = Held("erased");
  things_.Steal("stolen");

  Batch calls(things_);
  const WriteOp& a = calls.Write(WriteKind::kRelease, "lost", lost, Counted(9));
  const WriteOp& b = calls.Write(WriteKind::kRelease, "released", released, Counted(9));
  const SaveOp& c = calls.Save(SaveKind::kReplace, "conflict", conflict, Counted(9));
  const SaveOp& d = calls.Save(SaveKind::kReplace, "saved", saved, Counted(9));
  const WriteOp& e = calls.Write(WriteKind::kErase, "stolen", stolen);
  const WriteOp& f = calls.Write(WriteKind::kErase, "erased", erased);
  FailPoint late(database_, {.name = "late looks", .block_ms = 1500}, {.commands = {"find"}});
  {
    const std::jthread caller([&] { calls.Execute(20s); });
    WaitFor("released", 9, 1);
    WaitFor("saved", 9, 1);
    MakeAnew("released");
    MakeAnew("saved");
    WaitFor("erased", 1, 0);
    const Uuid born = Make("erased");
    Move("erased", born, 1);
    Move("erased", born, 2);
  }
  late.End();
  EXPECT_EQ(a.status, OpStatus::kLost) << Why(a);
  EXPECT_EQ(b.status, OpStatus::kDone) << Why(b);
  EXPECT_EQ(c.status, OpStatus::kConflict) << Why(c);
  EXPECT_EQ(d.status, OpStatus::kDone) << Why(d);
  EXPECT_EQ(e.status, OpStatus::kLost) << Why(e);
  EXPECT_EQ(f.status, OpStatus::kDone) << Why(f);
}

TEST_F(MongoProof, WhatWasDoneBeforeIsNotCountedWithWhatWasDoneNow) {
  const AcquireOp before = Free("before"), now = Free("now");
  Batch first(things_);
  const SaveOp& done = first.Save(SaveKind::kReplace, "before", before, Counted(9));
  first.Execute();
  ASSERT_EQ(done.status, OpStatus::kDone) << Why(done);

  Batch calls(things_);
  SaveOp& again = calls.Save(SaveKind::kReplace, "before", before, Counted(9));
  again.request.write_id = done.request.write_id;
  again.is_retry = true;
  const SaveOp& moved = calls.Save(SaveKind::kReplace, "now", now, Counted(9));
  FailPoint late(database_, {.name = "late looks", .block_ms = 1500}, {.commands = {"find"}});
  {
    const std::jthread caller([&] { calls.Execute(20s); });
    WaitFor("now", 9, 1);
    Move("now", now.result.born, now.result.version + 1);
  }
  late.End();
  EXPECT_EQ(again.status, OpStatus::kConflict) << "the engine looks at what it has left";
  EXPECT_EQ(moved.status, OpStatus::kDone) << Why(moved);
}

/// In one call: what is done now, and what a document shows although it was done before. The server
/// says which statement matched nothing.
TEST_F(MongoProof, WhatWasDoneBeforeTakesNoOutcomeFromWhatIsDoneNow) {
  int count = 0;
  for (const Deed repeated : kDeeds) {
    for (const Deed fresh : kDeeds) {
      SCOPED_TRACE(::testing::Message() << "repeated " << repeated << ", fresh " << fresh);
      const std::string before = "before " + std::to_string(++count);
      const std::string now = "now " + std::to_string(count);
      const AcquireOp held = Held(before);
      if (repeated != Deed::kGrant) {
        Batch first(things_);
        const StoreOp& done = Ask(first, repeated, before, held, 2);
        first.Execute();
        ASSERT_EQ(done.status, OpStatus::kDone) << Why(done);
      }
      const AcquireOp known = fresh == Deed::kGrant ? Free(now) : Held(now);
      const std::int64_t version = things_.Read(before).result.version;

      Batch calls(things_);
      const StoreOp& vain = Ask(calls, repeated, before, held, 3);
      const StoreOp& done = Ask(calls, fresh, now, known, 3);
      calls.Execute();
      EXPECT_EQ(vain.status, repeated == Deed::kGrant ? OpStatus::kBusy : OpStatus::kLost)
          << Why(vain);
      EXPECT_EQ(things_.Read(before).result.version, version);
      EXPECT_EQ(done.status, OpStatus::kDone) << Why(done);
      EXPECT_EQ(things_.Read(now).result.version, known.result.version + 1);
    }
  }
}

/// By modifiers and by pipelines, which replace a body that is not known: the statement that says
/// that it matches nothing would make a document, were that possible.
TEST_F(MongoProof, AStatementThatMatchesNothingSaysSoAndMakesNoDocument) {
  const AcquireOp held = Held("held"), saved = Free("saved"), gone = Held("gone");
  AcquireOp stale = Free("stale");
  stale.result.version = 7;
  things_.Break("gone");
  ASSERT_EQ(things_.Save(SaveKind::kErase, "gone").status, OpStatus::kDone);
  for (const bool knows_body : {true, false}) {
    SCOPED_TRACE(knows_body);
    Batch calls(things_);
    WriteOp& a = calls.Write(WriteKind::kCheckpoint, "held", held, Counted(2));
    WriteOp& b = calls.Write(WriteKind::kRelease, "gone", gone, Counted(2));
    SaveOp& c = calls.Save(SaveKind::kReplace, "gone too", saved, Counted(2));
    SaveOp& d = calls.Save(SaveKind::kReplace, "saved", saved, Counted(2));
    SaveOp& e = calls.Save(SaveKind::kReplace, "stale", stale, Counted(2));
    const std::int64_t more = knows_body ? 0 : 1;
    a.request.expected += more;
    d.request.expected += more;
    if (knows_body)
      a.request.base = b.request.base = c.request.base = d.request.base = e.request.base =
          Counted(1);
    calls.Execute();
    EXPECT_EQ(a.status, OpStatus::kDone) << Why(a);
    EXPECT_EQ(a.result.version, held.result.version + 1 + more);
    EXPECT_EQ(b.status, OpStatus::kMissing) << Why(b);
    EXPECT_EQ(c.status, OpStatus::kMissing) << Why(c);
    EXPECT_EQ(d.status, OpStatus::kDone) << Why(d);
    EXPECT_EQ(e.status, OpStatus::kConflict) << Why(e);
    EXPECT_EQ(CountOf({}), 3);
  }
}

TEST_F(MongoProofOfTwo, AStatementThatMeetsNothingWhenItIsSentAgainIsInDoubt) {
  for (const SaveKind kind : {SaveKind::kReplace, SaveKind::kErase}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const AcquireOp moved = Free("moved"), other = Free("other");
    Batch calls(monitored_);
    const Body body = kind == SaveKind::kErase ? Body() : Counted(2);
    const SaveOp& a = calls.Save(kind, "moved", moved, body);
    const SaveOp& b = calls.Save(kind, "other", other, body);
    Execute(calls, kind == SaveKind::kErase ? "delete" : "update", moved);
    EXPECT_TRUE(IsUndecided(a)) << Why(a);
    EXPECT_EQ(b.status, OpStatus::kDone) << Why(b);
  }
}

TEST_F(MongoProof, EachNameThatABodyMayHaveIsLeftToTheUser) {
  const Body body = Body::FromJson({{"n", 1}, {"doclock:new", 5}, {"new", 6}});
  const Key key("any");
  const AcquireOp any = things_.Acquire(key, NewUuid(), body), other = Held("other");
  Batch calls(things_);
  const WriteOp& a = calls.Write(WriteKind::kCheckpoint, key, any, Counted(2));
  const WriteOp& b = calls.Write(WriteKind::kCheckpoint, "other", other, Counted(2));
  calls.Execute();
  EXPECT_EQ(a.status, OpStatus::kDone) << Why(a);
  EXPECT_EQ(b.status, OpStatus::kDone) << Why(b);
}

/// Whoever was granted it: a lease that is over is none.
TEST_F(MongoProof, AnExpiredLockIsGrantedUnderItsOwnId) {
  const AcquireOp expired = Held("expired"), held = Held("held");
  things_.Expire("expired");
  Batch calls(things_);
  AcquireOp& grant = calls.Acquire("expired");
  grant.request.grant.lock_id = expired.request.grant.lock_id;
  const WriteOp& checkpoint = calls.Write(WriteKind::kCheckpoint, "held", held, Counted(2));
  calls.Execute();
  EXPECT_EQ(grant.status, OpStatus::kDone) << Why(grant);
  EXPECT_EQ(grant.result.version, expired.result.version + 2);
  EXPECT_EQ(checkpoint.status, OpStatus::kDone) << Why(checkpoint);
}

}  // namespace
}  // namespace doclock::mongo_test
