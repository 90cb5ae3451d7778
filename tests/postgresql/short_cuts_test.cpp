#include "postgresql/operations/short_cuts.h"

#include <gmock/gmock.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "conformance/suite/store_conformance.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/client/url.h"
#include "postgresql/operations/unit.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using conformance::Client;
using conformance::kTtl;
using conformance::MakeBody;

/// Two equal documents: what a short cut leaves of one, the rules leave of the other.
class PostgresqlStoreShortCuts : public ::testing::Test {
 protected:
  /// Both have the lock of this id afterwards.
  void Lock(const Uuid& id) {
    for (const Key& key : {short_, long_}) {
      things_.Acquire(key, {.id = id, .insert = MakeBody({{"n", 1}})});
    }
  }
  void Set(const std::string& changes) {
    schema_.raw().Run("UPDATE doclock_c_things SET " + changes);
  }
  /// Takes the short cuts.
  void TryAll(std::initializer_list<StoreOp*> ops) {
    std::vector<postgresql::ShortCut> cuts;
    for (StoreOp* const op : ops) {
      const rules::Plain kind = rules::PlainOf(*op);
      ASSERT_NE(postgresql::UpdateOf(kind), nullptr);
      if (auto cut = postgresql::ShortCutOf({kind, op})) cuts.push_back(*std::move(cut));
    }
    postgresql::Pool pool(postgresql::ParseUrl(schema_.url()));
    postgresql::PostgresqlUnit(pool, locking::Access::kWrite,
                               std::chrono::steady_clock::now() + 1min, 0)
        .CarryOut(cuts, ops.size() == 1);
  }
  /// False: there is none, or it found nothing to do.
  bool Try(StoreOp& op) {
    TryAll({&op});
    return op.status == OpStatus::kDone;
  }
  /// Carries out an operation of each document, one by its short cut, the other by the rules.
  template <class Op>
  void Compare(const std::function<void(Op&)>& fill) {
    Op by_short(things_.collection(), short_), by_rules(things_.collection(), long_);
    fill(by_short);
    fill(by_rules);
    ASSERT_TRUE(Try(by_short));
    ReadOp read(things_.collection(), long_);  // a document that is named twice has no short cut
    things_.Execute({&by_rules, &read});
    ASSERT_EQ(by_rules.status, OpStatus::kDone);
    if constexpr (requires { by_rules.version; }) {
      EXPECT_EQ(by_short.version, by_rules.version);
    }
    EXPECT_EQ(Row(short_), Row(long_));
  }
  /// All columns but the key; of times, whether they are those of now.
  std::string Row(const Key& key) {
    std::string row = schema_.raw().Run(
        "SELECT (to_jsonb(t) - '{key_text,lock_time,lock_since,lock_born}'::text[])::text ||"
        " (now() - lock_time < '1min') || (now() - lock_since < '1min') || (lock_time = lock_since)"
        " || (lock_born IS NULL) FROM doclock_c_things t WHERE key_text = '" +
        key.ToString() + "'");
    EXPECT_NE(row, "");
    return row;
  }
  void ExpectUnchanged(StoreOp& op) {
    const std::string before = Row(short_);
    EXPECT_FALSE(Try(op));
    EXPECT_EQ(op.status, OpStatus::kPending);
    EXPECT_EQ(Row(short_), before);
  }
  AcquireOp Acquire() { return things_.AcquireOf(short_); }
  WriteOp Release(const Uuid& id) { return things_.ReleaseOf(short_, id); }

  const Key short_{"short"}, long_{"long"};
  Schema schema_;
  const std::shared_ptr<Store> store_ = OpenPostgresqlStore(schema_.url());
  Client things_{store_};
};

TEST_F(PostgresqlStoreShortCuts, LeaveWhatTheRulesLeave) {
  const Uuid first = NewUuid(), second = NewUuid();
  Lock(first);
  Set("lock_time = lock_time - interval '1 second', lock_since = lock_since - interval '1 hour'");
  Compare<RenewOp>([&](RenewOp& op) { op.request.lock_id = first, op.request.ttl = 40s; });
  Compare<WriteOp>([&](WriteOp& op) {
    op.request.write = WriteKind::kCheckpoint;
    op.request.lock_id = first;
    op.request.expected = 1;
    op.request.ttl = 20s;
    op.request.body = MakeBody({{"n", 2}, {"control", "\1"}});
  });
  Compare<WriteOp>([&](WriteOp& op) {
    op.request.lock_id = first, op.request.body = MakeBody({{"n", 3}});
  });
  Compare<AcquireOp>([&](AcquireOp& op) {
    op.request.grant.lock_id = second;
    op.request.grant.ttl = 50s;
    op.request.grant.owner = std::make_shared<const LockHolder>(LockHolder{"ann", "here", 7});
    op.request.grant.group = "g";
  });
  GrantRequest next;
  next.lock_id = NewUuid();
  next.ttl = 10s;
  Compare<WriteOp>([&](WriteOp& op) { op.request.lock_id = second, op.request.next = &next; });
  Compare<WriteOp>(
      [&](WriteOp& op) { op.request.lock_id = next.lock_id, op.request.release_id = first; });
}

/// Else it would shorten what a renewal was told meanwhile.
TEST_F(PostgresqlStoreShortCuts, ACheckpointCountsFromAfterItsWaitForTheRow) {
  const Uuid id = NewUuid();
  Lock(id);
  RawServer other(schema_.url());
  other.Run("BEGIN; UPDATE doclock_c_things SET lock_fence = lock_fence");
  std::jthread renews([&] {
    const std::string waiting =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND " +
        other.Run("SELECT 'transactionid = ' || quote_literal(pg_current_xact_id()::xid)");
    while (schema_.raw().Run(waiting) == "0") std::this_thread::sleep_for(1ms);
    other.Run("UPDATE doclock_c_things SET lock_time = clock_timestamp(); COMMIT");
  });
  WriteOp checkpoint = Release(id);
  checkpoint.request.write = WriteKind::kCheckpoint;
  checkpoint.request.ttl = kTtl;
  checkpoint.request.body = MakeBody({{"n", 2}});
  ASSERT_TRUE(Try(checkpoint));
  renews.join();
  EXPECT_EQ(schema_.raw().Run("SELECT a.lock_time > b.lock_time FROM doclock_c_things a,"
                              " doclock_c_things b WHERE a.key_text = 'short' AND"
                              " b.key_text = 'long'"),
            "t");
}

TEST_F(PostgresqlStoreShortCuts, OfManyDocumentsLeaveTheSame) {
  const Uuid first = NewUuid();
  Lock(first);
  WriteOp plain(things_.collection(), long_), release = Release(first), other = Release(NewUuid());
  plain.request.lock_id = first;
  release.request.body = MakeBody({{"n", 2}});
  TryAll({&other, &plain, &release});  // one of them in vain
  EXPECT_EQ(other.status, OpStatus::kPending);
  EXPECT_EQ(plain.status, OpStatus::kDone);
  ASSERT_EQ(release.status, OpStatus::kDone);
  AcquireOp one = Acquire(), two(things_.collection(), long_);
  two.request.grant = one.request.grant;
  two.request.grant.group = "g";
  TryAll({&one, &two});
  EXPECT_EQ(one.result.body.json().at("n"), 2);
  EXPECT_EQ(two.result.body.json().at("n"), 1);
  WriteOp with_body = Release(one.request.grant.lock_id), without(things_.collection(), long_);
  with_body.request.body = MakeBody({{"control", "\1"}});
  without.request.lock_id = two.request.grant.lock_id;
  TryAll({&with_body, &without});
  EXPECT_EQ(with_body.result.version, one.result.version + 1);
  EXPECT_EQ(without.result.version, two.result.version + 1);
  EXPECT_EQ(things_.Read(short_).result.body.json(), with_body.request.body.json());
  EXPECT_EQ(things_.Read(long_).result.body.json().at("n"), 1);
}

TEST_F(PostgresqlStoreShortCuts, NeverShortenALease) {
  const Uuid id = NewUuid();
  Lock(id);
  RenewOp op = things_.RenewOf(short_, id, 1s);
  ASSERT_TRUE(Try(op));
  EXPECT_GT(things_.Read(short_).result.remaining, 20s);
}

/// Else nobody could read the lock that a holder renewed after the server's clock was set back.
TEST_F(PostgresqlStoreShortCuts, MakeNoLeaseThatIsLongerThanReadersTake) {
  const Uuid id = NewUuid();
  Lock(id);
  Set("lock_time = now() + interval '400 days'");
  Compare<RenewOp>([&](RenewOp& op) { op.request.lock_id = id, op.request.ttl = kTtl; });
  const ReadOp read = things_.Read(short_);
  EXPECT_EQ(read.detail, nullptr);
  EXPECT_GT(read.result.remaining, 364 * 24h);
  EXPECT_TRUE(Try(*std::make_unique<WriteOp>(Release(id))));
}

TEST_F(PostgresqlStoreShortCuts, FindNothingToDoWhereTheRulesHaveToDecide) {
  const Uuid id = NewUuid();
  AcquireOp acquire = Acquire();
  EXPECT_FALSE(Try(acquire));  // no document
  Lock(id);
  ExpectUnchanged(acquire);  // held
  WriteOp other = Release(NewUuid());
  ExpectUnchanged(other);
  WriteOp stale = Release(id);
  stale.request.expected = 7;
  ExpectUnchanged(stale);
  Set("lock_time = lock_time - interval '1 hour'");
  ExpectUnchanged(acquire);  // to be taken over
  RenewOp renew = things_.RenewOf(short_, id);
  ExpectUnchanged(renew);
  Set("lock_queue = '[]'");
  WriteOp release = Release(id);
  ExpectUnchanged(release);  // somebody may be waiting
  Set("lock_id = NULL");
  ExpectUnchanged(acquire);
  Set("lock_queue = NULL, lock_closed = now()");
  ExpectUnchanged(acquire);  // after a min_hold
  Set("lock_closed = NULL, lock_version = -1");
  ExpectUnchanged(acquire);  // malformed
  Set("lock_version = 1, lock_born = NULL");
  ExpectUnchanged(acquire);  // a row that others made
}

TEST_F(PostgresqlStoreShortCuts, LeaveWhatIsMalformedToTheLongWay) {
  const Uuid id = NewUuid();
  Lock(id);
  RenewOp renew = things_.RenewOf(short_, id);
  for (const char* const change :
       {"lock_version = -1", "lock_version = 9223372036854775807", "lock_ttl = -1",
        "lock_ttl = 31536000001", "lock_fence = -1", "lock_fence = 9223372036854775807",
        "lock_closed = 'infinity'", "lock_closed = '-infinity'",
        "lock_since = now() - interval '80 years'", "lock_since = '1950-01-01'",
        "lock_time = now() + interval '80 years'", "lock_owner = '5'",
        "lock_owner = '{\"pid\": \"x\"}'", "lock_owner = '{\"pid\": -1}'",
        "lock_owner = '{\"pid\": 1, \"name\": 2}'", "lock_queue = '5'",
        "lock_queue = '[{\"id\": 1}]'"}) {
    SCOPED_TRACE(change);
    schema_.raw().Run("CREATE TABLE kept AS SELECT * FROM doclock_c_things");
    Set(change);
    ReadOp read(things_.collection(), short_);
    things_.Execute({&read});
    ASSERT_TRUE(read.detail);
    EXPECT_EQ(read.detail->code, Errc::kMalformed);
    EXPECT_FALSE(Try(renew));
    WriteOp release = Release(id);
    EXPECT_FALSE(Try(release));
    schema_.raw().Run("TRUNCATE doclock_c_things");
    schema_.raw().Run("INSERT INTO doclock_c_things SELECT * FROM kept");
    schema_.raw().Run("DROP TABLE kept");
  }
}

TEST_F(PostgresqlStoreShortCuts, OfOneThatAUniqueIndexRefusesAreUndone) {
  const Uuid id = NewUuid();
  Lock(id);
  things_.EnsureIndex({.fields = {"m"}, .unique = true});
  things_.Insert("third", {{"m", 3}});
  WriteOp refused = Release(id);
  refused.request.body = MakeBody({{"m", 3}});
  WriteOp beside = things_.ReleaseOf(long_, id);
  things_.Execute({&refused, &beside});
  EXPECT_EQ(refused.status, OpStatus::kConflict);
  EXPECT_EQ(beside.status, OpStatus::kDone);
  WriteOp released = Release(id);
  EXPECT_TRUE(Try(released));
}

}  // namespace
}  // namespace doclock::postgresql_test
