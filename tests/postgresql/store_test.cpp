#include "doclock/stores/postgresql.h"

#include <gmock/gmock.h>
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/suite/store_conformance.h"
#include "doclock/doclock.h"
#include "doclock/observer.h"
#include "doclock/time.h"
#include "locking/database.h"
#include "postgresql/client/connection.h"
#include "postgresql/client/pool.h"
#include "postgresql/support/raw_server.h"
#include "postgresql/support/variable.h"
#include "process/local_port.h"

namespace doclock::postgresql_test {
namespace {

using conformance::Client;
using conformance::kTtl;
using conformance::MakeBody;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class PostgresqlStore : public ::testing::Test {
 protected:
  std::shared_ptr<Store> Open() { return OpenPostgresqlStore(schema_.url()); }
  static Client Things(std::shared_ptr<Store> store, const std::string& name = "things") {
    return Client(std::move(store), name);
  }
  /// Until so many sessions wait for locks in the server.
  void AwaitLockWaits(int count) {
    const std::string fewer = "SELECT count(*) < " + std::to_string(count) +
                              " FROM pg_stat_activity WHERE wait_event_type"
                              " = 'Lock' AND query LIKE '%' || current_schema() || '%'";
    while (schema_.raw().Run(fewer) == "t") std::this_thread::yield();
  }

  Schema schema_;
  const std::shared_ptr<Store> store_ = Open();
};

TEST_F(PostgresqlStore, ABatchWaitsForNoRowOfOthers) {
  Client things = Things(store_);
  const Key kept("kept"), free("free"), fresh("fresh");
  things.Insert(kept, {});
  things.Insert(free, {});
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR UPDATE");
  AcquireOp first = things.AcquireOf(kept), second = things.AcquireOf(free);
  first.if_kept = IfKept::kLeave;
  SaveOp third = things.InsertOf(fresh, {{"n", 1}});
  const auto begin = std::chrono::steady_clock::now();
  things.Execute({&first, &second, &third}, std::chrono::minutes(10));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1)) << "it waited";
  EXPECT_EQ(second.status, OpStatus::kDone);
  EXPECT_EQ(third.status, OpStatus::kDone);
  EXPECT_EQ(first.status, OpStatus::kKept);
  other.Run("ROLLBACK");
  EXPECT_EQ(things.Acquire(kept).status, OpStatus::kDone);
}

/// Each commit costs a flush, and a wait for it.
TEST_F(PostgresqlStore, ABatchAndATransactionAreACommitEach) {
  Client things = Things(store_);
  const Key a("a"), b("b"), c("c"), fresh("fresh");
  const auto rows_of = [&](const std::string& version) {
    return schema_.raw().Run(
        "SELECT count(DISTINCT xmin::text) || ' commit, ' || count(*) || ' rows' FROM "
        "doclock_c_things WHERE lock_version = " +
        version);
  };
  for (const auto queue_for : {0ms, 1000ms}) {
    SCOPED_TRACE(queue_for.count());
    schema_.raw().Run("DELETE FROM doclock_c_things");
    for (const Key* const key : {&a, &b, &c}) things.Insert(*key, {});
    AcquireOp first = things.AcquireOf(a, {.queue_for = queue_for});
    AcquireOp second = things.AcquireOf(b, {.queue_for = queue_for});
    AcquireOp third = things.AcquireOf(c, {.queue_for = queue_for});
    things.Execute({&first, &second, &third});
    EXPECT_EQ(rows_of("2"), "1 commit, 3 rows");
    WriteOp one = things.ReleaseOf(a, first.request.grant.lock_id);
    WriteOp two = things.ReleaseOf(b, second.request.grant.lock_id);
    WriteOp three = things.ReleaseOf(c, third.request.grant.lock_id);
    StoreOp* const ops[] = {&one, &two, &three};
    CommitOp commit{.ops = ops};
    store_->Commit(commit, 1min);
    EXPECT_EQ(rows_of("3"), "1 commit, 3 rows");
  }
  AcquireOp first = things.AcquireOf(a),
            created = things.AcquireOf(fresh, {.insert = MakeBody({})});
  AcquireOp second = things.AcquireOf(b);
  things.Execute({&first, &created, &second});
  EXPECT_EQ(rows_of("4"), "1 commit, 2 rows") << "what is created comes in another one";
}

/// Also if all others of the batch have been carried out before.
TEST_F(PostgresqlStore, ARenewalInABatchWaitsForNoRowOfOthers) {
  Client things = Things(store_);
  const Key kept("kept"), free("free");
  const AcquireOp of_kept = things.Create(kept), of_free = things.Create(free);
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR UPDATE");
  RenewOp first = things.RenewOf(kept, of_kept.request.grant.lock_id);
  RenewOp second = things.RenewOf(free, of_free.request.grant.lock_id);
  const auto begin = std::chrono::steady_clock::now();
  things.Execute({&first, &second}, std::chrono::minutes(10));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(5)) << "it waited";
  EXPECT_EQ(second.status, OpStatus::kDone);
  ASSERT_EQ(first.status, OpStatus::kFailed);
  EXPECT_EQ(first.detail->code, Errc::kUnavailable);
}

TEST_F(PostgresqlStore, CallsThatWaitForKeptRowsTakeNoLaneFromOtherDocuments) {
  LockManager manager(store_, {.call_budget = 1min});
  LockingRepository<nlohmann::json> things(manager, "things");
  constexpr int kKept = 12;
  for (int i = 0; i < kKept; ++i) things.Insert(i, {{"n", 0}});
  things.Insert("free", {{"n", 0}});
  std::atomic<int> granted = 0;
  std::vector<std::jthread> waiters;
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text <> 'free' FOR UPDATE");
  for (int i = 0; i < kKept; ++i) {
    waiters.emplace_back([&, i] {
      auto kept = things.Lock(i, {.wait = 5min});
      kept.Release();
      ++granted;
    });
  }
  AwaitLockWaits(4);
  for (int i = 0; i < 20; ++i) {
    auto free = things.Lock("free");
    free.Release();
  }
  EXPECT_EQ(granted, 0);
  other.Run("ROLLBACK");
  waiters.clear();
  EXPECT_EQ(granted, kKept);
}

/// Each write by itself, and those of one batch.
TEST_F(PostgresqlStore, AHoldersWriteWaitsForItsRow) {
  LockManager manager(store_, {.call_budget = 1min});
  LockingRepository<nlohmann::json> things(manager, "things");
  constexpr int kHolders = 8;  // more than there are lanes
  const nlohmann::json body{{"n", 0}};
  std::list<Locked<nlohmann::json>> held;
  for (int i = 0; i < kHolders; ++i) held.push_back(things.Lock({i, body}, {.ttl = 5min}));
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things FOR UPDATE");
  std::atomic<int> released = 0;
  std::vector<std::jthread> holders;
  for (auto& lock : held) {
    holders.emplace_back([&] {
      (*lock)["n"] = 1;
      lock.Release();
      ++released;
    });
  }
  AwaitLockWaits(3);
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(released, 0);
  other.Run("ROLLBACK");
  holders.clear();
  EXPECT_EQ(released, kHolders);
  for (int i = 0; i < kHolders; ++i) EXPECT_EQ((**things.Find(i))["n"], 1);
}

TEST_F(PostgresqlStore, CommitsThatWaitForAKeptRowLeaveConnectionsToOthers) {
  Client things = Things(store_);
  const Key kept("kept");
  things.Insert(kept, {});
  const ReadOp seen = things.Read(kept);
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR UPDATE");
  std::atomic<int> begun = 0;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 20; ++i) {
    waiters.emplace_back([&, fresh = Key(i)] {
      SaveOp save = things.SaveOf(SaveKind::kReplace, kept, seen.result.version, seen.result.born,
                                  MakeBody({{"n", 1}}));
      SaveOp insert = things.InsertOf(fresh, {{"n", 1}});
      StoreOp* const ops[] = {&insert, &save};
      CommitOp commit{.ops = ops};
      ++begun;
      store_->Commit(commit, 1min);
    });
  }
  while (begun < 20) std::this_thread::yield();
  for (int i = 100; i < 120; ++i) things.Insert(Key(i), {});
  EXPECT_EQ(things.Read(kept).result.version, seen.result.version);
  other.Run("ROLLBACK");
  waiters.clear();
  EXPECT_EQ(things.Read(kept).result.version, seen.result.version + 1);
}

class CountsRenewals final : public Observer {
 public:
  void OnRenewed(const LockEvent& event) override {
    if (event.key == Key("free")) ++count;
  }
  std::atomic<int> count = 0;
};

TEST_F(PostgresqlStore, WhatOthersKeepTakesNoLeaseOfOtherCollections) {
  const auto renewals = std::make_shared<CountsRenewals>();
  LockManager manager(store_, {.observer = renewals});
  using Bodies = LockingRepository<nlohmann::json>;
  const Bodies things(manager, "things"), more(manager, "more"), free(manager, "free");
  const nlohmann::json body = nlohmann::json::object();
  const auto first = more.Lock({"first", body}, {.ttl = 6s});
  std::list<Locked<nlohmann::json>> kept;
  for (int i = 0; i < 50; ++i) {  // which fall due in many batches
    kept.push_back(things.Lock({i, body}, {.ttl = 6s}));
    std::this_thread::sleep_for(20ms);
  }
  const auto held = free.Lock({"free", body}, {.ttl = 3s});
  RawServer other(schema_.url());
  other.Run("BEGIN; LOCK TABLE doclock_c_things IN SHARE MODE");
  other.Run("SELECT 1 FROM doclock_c_more FOR UPDATE");
  const int before = renewals->count;
  while (held.held() && renewals->count < before + 6) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(held.held());
  other.Run("ROLLBACK");
}

/// One that can be carried out in one statement, beside one that cannot.
TEST_F(PostgresqlStore, ABlockedShortCutFailsNoOtherOfItsBatch) {
  Client things = Things(store_);
  const Key kept("kept"), fresh("fresh");
  things.Insert(kept, {});
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR UPDATE");
  AcquireOp first = things.AcquireOf(kept);
  SaveOp second = things.InsertOf(fresh, {{"n", 1}});
  things.Execute({&first, &second}, std::chrono::milliseconds(800));
  EXPECT_EQ(second.status, OpStatus::kDone);
  EXPECT_EQ(first.status, OpStatus::kFailed);
}

TEST_F(PostgresqlStore, ACommitWaitsForRowsOfOthers) {
  Client things = Things(store_);
  const Key kept("kept"), fresh("fresh");
  things.Insert(kept, {{"n", 1}});
  const ReadOp seen = things.Read(kept);
  SaveOp save = things.SaveOf(SaveKind::kReplace, kept, seen.result.version, seen.result.born,
                              MakeBody({{"n", 2}}));
  SaveOp insert = things.InsertOf(fresh, {{"n", 1}});
  StoreOp* const ops[] = {&insert, &save};
  CommitOp commit{.ops = ops};
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR UPDATE");
  store_->Commit(commit, 200ms);
  ASSERT_EQ(save.status, OpStatus::kFailed);
  EXPECT_EQ(save.detail->code, Errc::kUnavailable) << "not: missing, or changed by another client";
  std::jthread done([&] {
    std::this_thread::sleep_for(100ms);
    other.Run("COMMIT");
  });
  store_->Commit(commit, 1min);
  EXPECT_EQ(save.status, OpStatus::kDone);
  EXPECT_EQ(insert.status, OpStatus::kDone);
  EXPECT_EQ(things.Read(kept).result.body.json(), nlohmann::json({{"n", 2}}));
}

/// A call whose caller has gone waits in front of it, so it waits twice.
TEST_F(PostgresqlStore, ACallThatNeverGotItsRowIsNotInDoubt) {
  Client things = Things(store_);
  const Key kept("kept");
  const AcquireOp held = things.Create(kept);
  const auto release = [&] {
    WriteOp op = things.ReleaseOf(kept, held.request.grant.lock_id);
    things.Execute({&op}, 2s);
    ASSERT_EQ(op.status, OpStatus::kFailed);
    EXPECT_EQ(op.detail->code, Errc::kUnavailable);
    EXPECT_EQ(op.detail->message, locking::kKeptText);
  };
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR SHARE");
  std::jthread first(release);
  const std::string waits =
      "SELECT count(*) FROM pg_locks WHERE NOT granted AND " +
      other.Run("SELECT 'transactionid = ' || quote_literal(pg_current_xact_id()::xid)");
  while (schema_.raw().Run(waits) == "0") std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(1s);
  release();
  first.join();
  other.Run("ROLLBACK");
  EXPECT_EQ(things.Release(kept, held).status, OpStatus::kDone);
}

/// It waits for what it loads, and then for what it writes.
TEST_F(PostgresqlStore, ACommitThatWaitsTwiceIsNotInDoubt) {
  Client things = Things(store_);
  const Key kept("kept"), fresh("fresh");
  const AcquireOp held = things.Create(kept);
  SaveOp insert = things.InsertOf(fresh, {{"n", 1}});
  WriteOp release = things.ReleaseOf(kept, held.request.grant.lock_id);
  StoreOp* const ops[] = {&insert, &release};
  CommitOp commit{.ops = ops};
  RawServer keeps(schema_.url()), inserts(schema_.url());
  keeps.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR SHARE");
  inserts.Run("BEGIN; INSERT INTO doclock_c_things(key_text, body) VALUES('fresh', '{}')");
  std::jthread done([&] {
    std::this_thread::sleep_for(1s);
    keeps.Run("COMMIT");
  });
  store_->Commit(commit, 2s);
  EXPECT_TRUE(std::ranges::none_of(
      ops, [](const StoreOp* op) { return op->status == OpStatus::kInDoubt; }));
  inserts.Run("ROLLBACK");
  store_->Commit(commit, 1min);
  EXPECT_EQ(insert.status, OpStatus::kDone);
  EXPECT_EQ(release.status, OpStatus::kDone);
}

TEST_F(PostgresqlStore, TellsTheOtherStoreWhoseWaiterWasGrantedTheLock) {
  const std::shared_ptr<Store> other = Open();
  Client here = Things(store_), there = Things(other);
  const Key key("42");
  std::atomic<bool> listens = false, granted = false;
  const auto subscription = other->Watch(there.collection(), [&](const LockHint& hint) {
    (hint.hash == key.Hash() ? granted : listens) = true;
  });
  while (!listens) std::this_thread::yield();  // it says that anything may have happened before
  const AcquireOp grant = here.Create(key);
  const AcquireOp waiter = there.Acquire(key, {.queue_for = kTtl});
  ASSERT_TRUE(waiter.result.queued);
  here.Release(key, grant);
  while (!granted) std::this_thread::yield();
  EXPECT_TRUE(
      there.Acquire(key, {.id = waiter.request.grant.lock_id, .queue_for = kTtl}).result.passed_on);
}

TEST_F(PostgresqlStore, IsRefusedInAForkedChildAndGoesOnInTheParent) {
  Client things = Things(store_);
  things.Insert("42", {});
  const pid_t child = ::fork();
  if (child == 0) {
    const ReadOp read = things.Read("42");
    ::_exit(read.status == OpStatus::kFailed && read.detail->code == Errc::kForked ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(things.Read("42").status, OpStatus::kDone);
}

TEST_F(PostgresqlStore, RefusesATableOfAnotherProgramByItsName) {
  schema_.raw().Run("CREATE TABLE doclock_c_things(id int)");
  try {
    Things(store_);
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("doclock_c_things"));
  }
}

TEST_F(PostgresqlStore, RefusesTablesOfAnotherVersion) {
  Things(store_);
  schema_.raw().Run("UPDATE doclock_meta SET value = '2' WHERE name = 'schema'");
  EXPECT_THROW(Things(Open()), StoreException);
}

TEST_F(PostgresqlStore, LongNamesHaveTablesOfTheirOwn) {
  const std::string name(63, 'n');
  Client one = Things(store_, name + "1"), two = Things(store_, name + "2");
  one.Insert("42", {});
  EXPECT_EQ(two.Read("42").status, OpStatus::kMissing);
  EXPECT_EQ(Things(Open(), name + "1").Read("42").status, OpStatus::kDone);
}

TEST_F(PostgresqlStore, ListsTheCollectionsThatHaveATable) {
  EXPECT_THAT(store_->ListCollections(10s), IsEmpty());
  const std::string name(64, 'n');
  for (const std::string& one : {std::string("things"), name, std::string("others")}) {
    Things(store_, one);
  }
  EXPECT_THAT(Open()->ListCollections(10s), UnorderedElementsAre("things", "others", name));
  schema_.raw().Run("DROP TABLE doclock_c_others; CREATE TABLE doclock_c_foreign()");
  EXPECT_THAT(store_->ListCollections(10s), UnorderedElementsAre("things", name));
}

TEST_F(PostgresqlStore, NamesTheUsersOwnUniqueIndex) {
  Client things = Things(store_);
  schema_.raw().Run("CREATE UNIQUE INDEX one_n ON doclock_c_things((body -> 'n'))");
  EXPECT_EQ(things.Insert("1", {{"n", 1}}).status, OpStatus::kDone);
  const SaveOp second = things.Insert("2", {{"n", 1}});
  ASSERT_EQ(second.status, OpStatus::kConflict);
  EXPECT_EQ(second.detail->index, "one_n");
}

TEST_F(PostgresqlStore, RowsCanBeReadAndFencedInSql) {
  Client things = Things(store_);
  const AcquireOp grant = things.Create("42", {{"n", 7}}, {.owner = "ann"});
  EXPECT_EQ(schema_.raw().Run("SELECT body ->> 'n' || ' ' || (lock_owner ->> 'name') FROM"
                              " doclock_c_things WHERE key_text = '42' AND lock_version = " +
                              std::to_string(grant.result.version) +
                              " AND lock_id IS NOT NULL FOR SHARE"),
            "7 ann");
}

TEST_F(PostgresqlStore, ATransactionInSqlCanAskWhetherAFenceStillHolds) {
  Client things = Things(store_);
  const AcquireOp grant = things.Create("42");
  const auto holds = [&] {
    return schema_.raw().Run("WITH held AS (" +
                             PostgresqlFence("things", "42", grant.result.version) +
                             ") SELECT count(*) FROM held");
  };
  EXPECT_EQ(holds(), "1");
  const WriteOp save =
      things.Write("42", WriteKind::kCheckpoint, grant.request.grant.lock_id,
                   {.expected = grant.result.version, .body = MakeBody({{"n", 2}})});
  EXPECT_EQ(holds(), "1");
  things.Release("42", grant.request.grant.lock_id);
  EXPECT_EQ(holds(), "0");
  EXPECT_GT(things.Acquire("42").result.version, save.result.version);
  EXPECT_EQ(holds(), "0");
}

/// A share leaves the fence of the exclusive grant before it, and has a lock id too.
TEST_F(PostgresqlStore, AFenceInSqlDoesNotHoldOnceSomebodyHasAShare) {
  Client things = Things(store_);
  for (const char* const key : {"over", "released"}) {
    SCOPED_TRACE(key);
    const AcquireOp grant = things.Create(key);
    schema_.raw().Run("UPDATE doclock_c_things SET lock_time = now() - interval '1 hour'");
    if (key == std::string("released")) things.Release(key, grant.request.grant.lock_id);
    ASSERT_EQ(things.Acquire(key, {.mode = LockMode::kShared}).status, OpStatus::kDone);
    const std::string fence = std::to_string(grant.result.version);
    ASSERT_EQ(schema_.raw().Run("SELECT count(lock_id) FROM doclock_c_things WHERE lock_fence = " +
                                fence + " AND key_text = '" + key + "'"),
              "1");
    EXPECT_EQ(
        schema_.raw().Run("WITH held AS (" + PostgresqlFence("things", key, grant.result.version) +
                          ") SELECT count(*) FROM held"),
        "0");
  }
}

TEST_F(PostgresqlStore, FencesKeysOfAnyKind) {
  Client things = Things(store_);
  const Key keys[] = {Key("it's \\ \1"), Key(std::string(1, '\0')), Key(-7), Key(NewUuid())};
  for (const Key& key : keys) {
    const AcquireOp grant = things.Create(key);
    for (const char* strings : {"on", "off"}) {
      EXPECT_EQ(schema_.raw().Run(std::string("SET standard_conforming_strings = ") + strings +
                                  "; SET escape_string_warning = off; WITH held AS (" +
                                  PostgresqlFence("things", key, grant.result.version) +
                                  ") SELECT count(*) FROM held"),
                "1")
          << key.ToString();
    }
  }
}

TEST_F(PostgresqlStore, UsesTablesThatAnotherUserMade) {
  const std::string name(60, 'n');
  for (int i = 0; i < 2; ++i)
    schema_.raw().Run(PostgresqlTables(name) + PostgresqlTables("things"));
  const std::string schema = schema_.raw().Run("SELECT current_schema()"), user = "user_" + schema;
  schema_.raw().Run("CREATE ROLE " + user + " LOGIN; GRANT USAGE ON SCHEMA " + schema + " TO " +
                    user + "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " +
                    schema + " TO " + user);
  {
    const auto store = OpenPostgresqlStore(schema_.url() + "&user=" + user);
    EXPECT_THAT(store->ListCollections(10s), UnorderedElementsAre(name, "things"));
    EXPECT_EQ(Things(store, name).Insert("42", {}).status, OpStatus::kDone);
    EXPECT_THROW(Things(store, "others"), StoreException);
    const IndexSpec index{.fields = {"n"}};
    Client things = Things(store);
    try {
      store->EnsureIndex(things.collection(), index);
      FAIL() << "the table is not the user's";
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused);
      EXPECT_THAT(error.what(), HasSubstr("doclock_c_things\" (SQLSTATE 42501): let its owner"));
    }
    store_->EnsureIndex(*store_->Open("things", {}, kTtl), index);
    store->EnsureIndex(things.collection(), index);  // it is there
  }
  schema_.raw().Run("DROP OWNED BY " + user + "; DROP ROLE " + user);
}

TEST_F(PostgresqlStore, CallsForWhichTheServerTakesNoConnectionWaitForOthers) {
  Things(store_);
  const std::string schema = schema_.raw().Run("SELECT current_schema()"), user = "user_" + schema;
  schema_.raw().Run("CREATE ROLE " + user + " LOGIN CONNECTION LIMIT 4; GRANT USAGE ON SCHEMA " +
                    schema + " TO " + user +
                    "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema +
                    " TO " + user);
  {
    const auto store = OpenPostgresqlStore(schema_.url() + "&user=" + user);
    const Client things = Things(store);
    std::atomic<int> done = 0;
    std::vector<std::jthread> callers;
    for (int i = 0; i < 12; ++i) {
      callers.emplace_back([&done, mine = things, key = Key(i)]() mutable {
        for (int cycle = 0; cycle < 20; ++cycle) {
          const AcquireOp grant = mine.Create(key);
          if (mine.Release(key, grant).status == OpStatus::kDone) ++done;
        }
      });
    }
    callers.clear();
    EXPECT_EQ(done, 12 * 20);
  }
  schema_.raw().Run("DROP OWNED BY " + user + "; DROP ROLE " + user);
}

/// No connection is given back meanwhile.
TEST_F(PostgresqlStore, ACallForWhichTheServerTakesNoConnectionTriesAgain) {
  const std::string schema = schema_.raw().Run("SELECT current_schema()"), user = "user_" + schema;
  schema_.raw().Run("CREATE ROLE " + user + " LOGIN CONNECTION LIMIT 2");
  {
    postgresql::Pool pool(postgresql::ParseUrl(schema_.url() + "&user=" + user));
    const auto deadline = std::chrono::steady_clock::now() + 1min;
    const auto first = pool.Take(deadline), second = pool.Take(deadline);
    auto third = std::async(std::launch::async, [&] { return pool.Take(deadline); });
    EXPECT_EQ(third.wait_for(100ms), std::future_status::timeout);
    schema_.raw().Run("ALTER ROLE " + user + " CONNECTION LIMIT 3");
    EXPECT_NE(third.get(), nullptr);
  }
  schema_.raw().Run("DROP ROLE " + user);
}

TEST_F(PostgresqlStore, MakesIndexesForSearches) {
  Client things = Things(store_);
  for (int i = 0; i < 2; ++i) things.EnsureIndex({.fields = {"a.it's", "n", "_id"}});
  EXPECT_EQ(things.Insert("1", {{"n", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(things.Insert("2", {{"n", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(schema_.raw().Run("SELECT string_agg(obj_description(indexrelid), ' ') FROM pg_index"
                              " WHERE indrelid = 'doclock_c_things'::regclass"),
            "a.it's,n");
}

TEST_F(PostgresqlStore, ReadsAndFindsWhatSqlWritesIntoABody) {
  Client things = Things(store_);
  for (const nlohmann::json& balance : {nlohmann::json(0.0), nlohmann::json(-0.0)}) {
    const Key key(NewUuid());
    ASSERT_EQ(things.Insert(key, {{"balance", balance}, {"state", "new"}}).status, OpStatus::kDone);
    schema_.raw().Run("UPDATE doclock_c_things SET body = jsonb_set(body, '{state}', '\"paid\"')");
    EXPECT_EQ(things.Read(key).result.body.json().at("state"), "paid");
    EXPECT_EQ(things.Query(Filter().Equal("state", "new")), std::vector<Key>{});
  }
  EXPECT_EQ(things.Query(Filter().Equal("state", "paid")).size(), 2U);
}

TEST_F(PostgresqlStore, KeepsTheDigitsThatSqlWrites) {
  Client things = Things(store_);
  ASSERT_EQ(things.Insert("1", {{"n", 0}}).status, OpStatus::kDone);
  schema_.raw().Run(
      "UPDATE doclock_c_things SET body = body || '{\"price\": 12345678901234567.89,"
      " \"wei\": 18446744073709551617, \"deep\": [{\"rate\": 1.50, \"huge\": 1e400}]}'");
  const std::string look = "SELECT body - 'n' FROM doclock_c_things";
  const std::string before = schema_.raw().Run(look);
  const LockManager manager(store_);
  const LockingRepository<nlohmann::json> documents(manager, "things");
  auto document = documents.Lock("1");
  (*document)["n"] = 1;
  document.Release();
  EXPECT_EQ(schema_.raw().Run(look), before);
  EXPECT_EQ(schema_.raw().Run("SELECT body -> 'n' FROM doclock_c_things"), "1");
}

TEST_F(PostgresqlStore, PassesOverAHostThatIsSilent) {
  const test::LocalPort silent;
  std::string url = schema_.url();
  url.insert(url.find('@') + 1, silent.host() + ",");
  const auto deadline = std::chrono::steady_clock::now() + 1s;
  EXPECT_NO_THROW(postgresql::Connection(postgresql::ParseUrl(url), deadline));
}

TEST(PostgresqlOpening, OfAServerThatIsNotThereTellsNoSecret) {
  try {
    OpenPostgresqlStore("postgresql://me:secret@127.0.0.1:1/orders");
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kUnavailable);
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
}

/// A store that went on in another database would grant what is held in this one.
TEST_F(PostgresqlStore, GoesOnWhereItWasOpenedWhateverTheEnvironmentSaysLater) {
  const std::string name = schema_.raw().Run("SELECT current_schema()");
  std::list<Variable> variables;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(ServerUrl().c_str(), nullptr), PQconninfoFree);
  for (const PQconninfoOption* one = options.get(); one->keyword != nullptr; ++one) {
    if (one->val != nullptr && one->envvar != nullptr)
      variables.emplace_back(one->envvar, one->val);
  }
  Variable settings("PGOPTIONS", "-csearch_path=" + name);
  const Variable program("PGAPPNAME", name);
  const auto store = OpenPostgresqlStore("postgresql://");
  Client things = Things(store);
  EXPECT_EQ(things.Insert("42", {}).status, OpStatus::kDone);
  for (Variable& variable : variables) variable.Unset();
  settings.Unset();
  const Variable user("PGUSER", "nobody"), database("PGDATABASE", "template1"),
      host("PGHOST", "192.0.2.1"), port("PGPORT", "1"), tls("PGSSLMODE", "verify-full");
  const std::string ended = schema_.raw().Run(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '" +
      name + "'");
  EXPECT_NE(ended, "0");
  EXPECT_EQ(things.Read("42").status, OpStatus::kDone);
}

TEST(PostgresqlUrl, TakesTheEnvironmentsWordOnce) {
  const Variable password("PGPASSWORD", "it's \\ one"), hosts("PGHOST", "a,b"),
      database("PGDATABASE", "");
  const postgresql::Url url = postgresql::ParseUrl("postgresql://ann@/?sslrootcert=ca.crt");
  const std::string folder = std::filesystem::current_path().string();
  EXPECT_THAT(url.text, HasSubstr(R"(password='it\'s \\ one')"));
  EXPECT_THAT(url.text, HasSubstr("dbname='ann'"));
  EXPECT_THAT(url.text, HasSubstr("host='a,b'"));
  EXPECT_THAT(url.text, HasSubstr("hostaddr=''"));
  EXPECT_THAT(url.text, HasSubstr("sslmode='verify-full'"));
  EXPECT_THAT(url.text, HasSubstr("sslrootcert='" + folder + "/ca.crt'"));
  EXPECT_EQ(url.hosts.size(), 2U);
  const postgresql::Url other = postgresql::ParseUrl("postgresql://ann@/?password=&passfile=p");
  EXPECT_THAT(other.text, HasSubstr("passfile='" + folder + "/p'"));
}

TEST(PostgresqlUrl, NamesTheFilesOfTheHome) {
  if (PQlibVersion() < 150000) GTEST_SKIP() << "this libpq does not ask $HOME";
  const Variable home("HOME", "/home/ann"), password("PGPASSWORD", ""), file("PGPASSFILE", "");
  const std::string text = postgresql::ParseUrl("postgresql://ann@/?sslcert=/a.crt").text;
  EXPECT_THAT(text, HasSubstr("passfile='/home/ann/.pgpass'"));
  EXPECT_THAT(text, HasSubstr("sslrootcert='/home/ann/.postgresql/root.crt'"));
  EXPECT_THAT(text, HasSubstr("sslcert='/a.crt'"));
}

TEST(PostgresqlUrl, TakesAServicesWordOnce) {
  const std::string file = ::testing::TempDir() + "doclock_" + ToText(NewUuid());
  std::ofstream(file) << "[orders]\nhost=/run\nport=1234\ndbname=shop\npassword=secret\n";
  const Variable services("PGSERVICEFILE", file);
  const postgresql::Url url = postgresql::ParseUrl("postgresql:///?service=orders&port=77");
  std::filesystem::remove(file);
  EXPECT_THAT(url.text, AllOf(HasSubstr("host='/run'"), HasSubstr("port='77'")));
  EXPECT_THAT(url.text, HasSubstr("dbname='shop'"));
  EXPECT_THAT(url.text, HasSubstr("password='secret'"));
  EXPECT_THAT(url.text, Not(HasSubstr("orders")));
}

void ExpectRefused(const std::string& url, const std::string& reason) {
  try {
    OpenPostgresqlStore(url);
    ADD_FAILURE() << reason;
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

TEST_F(PostgresqlStore, NamesWhatTheSystemSaysOfAConnection) {
  for (const auto& [url, reason] : {std::pair{"postgresql://127.0.0.1:1/x", "Connection refused"},
                                    {"postgresql:///x?host=/nonesuch", "No such file"}}) {
    try {
      OpenPostgresqlStore(url);
      ADD_FAILURE() << url;
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kUnavailable);
      EXPECT_THAT(error.what(), HasSubstr(reason));
    }
  }
}

TEST_F(PostgresqlStore, NamesWhyAConnectionIsRefused) {
  const std::string url = ServerUrl(), server = url.substr(0, url.rfind('/'));
  const std::string name = schema_.raw().Run("SELECT current_schema()");
  ExpectRefused(server + "/nonesuch", "\"nonesuch\" does not exist");
  ExpectRefused(url + "?user=nobody_" + name, "does not exist");
  ExpectRefused(url + "?sslmode=require", "SSL");
  for (const char* option : {"?sslmode=bogus", "?channel_binding=bogus", "?hostaddr=bad",
                             "?service=nonesuch", "?host=localhost&port=99999"}) {
    ExpectRefused(url + option, "libpq does not take the value of an option");
  }
  ExpectRefused(url + "?keepalives=bogus", "keepalives");
  for (const char* setting : {"-cbogus%3D1", "-cwork_mem%3Dbogus", "-cshared_buffers%3D1", "-x"}) {
    ExpectRefused(url + "?options=" + setting, "FATAL");
  }
  schema_.raw().Run("CREATE DATABASE " + name +
                    " ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
  ExpectRefused(server + "/" + name, "encoding is not UTF8");
  schema_.raw().Run("DROP DATABASE " + name + " WITH (FORCE)");
}

/// Memory may run out in the middle of a call.
TEST_F(PostgresqlStore, WhatACallLeftQueuedIsNotCarriedOutByTheNextOne) {
  schema_.raw().Run("CREATE TABLE rows()");
  postgresql::Pool pool(postgresql::ParseUrl(schema_.url()));
  const auto deadline = std::chrono::steady_clock::now() + 1min;
  pool.Take(deadline)->Command("INSERT INTO rows DEFAULT VALUES");
  const auto next = pool.Take(deadline);
  next->SendOnce("SELECT count(*) FROM rows");
  const auto results = next->Run(deadline);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results.front().Number(0, 0), 0);
}

TEST_F(PostgresqlStore, PreparesAnewWhatWasDeallocated) {
  const postgresql::Statement one{"SELECT 1"};
  postgresql::Pool pool(postgresql::ParseUrl(schema_.url()));
  const auto deadline = std::chrono::steady_clock::now() + 1min;
  const auto connection = pool.Take(deadline);
  connection->Send(one);
  connection->SendOnce("SELECT name FROM pg_prepared_statements WHERE statement = 'SELECT 1'");
  const std::string name(connection->Run(deadline).back().Text(0, 0));
  connection->Command("DEALLOCATE \"" + name + "\"");
  connection->Run(deadline);
  connection->Send(one);
  EXPECT_THROW(connection->Run(deadline), postgresql::Refusal);
  connection->Send(one);
  EXPECT_EQ(connection->Run(deadline).back().Number(0, 0), 1);
}

TEST_F(PostgresqlStore, WhatARoleSetsEndsNoSession) {
  // A session that ends at its first error may end while its timeout is still the short one.
  for (const char* const one : {"%20-cstatement_timeout%3D1ms", "%20-cexit_on_error%3Don"}) {
    const auto store =
        OpenPostgresqlStore(schema_.url() + one + "%20-cdefault_transaction_read_only%3Don");
    Client ours = Things(store);
    schema_.raw().Run("CREATE UNIQUE INDEX IF NOT EXISTS one_n ON doclock_c_things((body -> 'n'))");
    EXPECT_EQ(ours.Insert(one, {{"n", one}}).status, OpStatus::kDone);
    EXPECT_EQ(ours.Insert("other", {{"n", one}}).status, OpStatus::kConflict);
  }
  const std::string settings = "%20-cstatement_timeout%3D1ms%20-cidle_session_timeout%3D1min";
  postgresql::Pool pool(postgresql::ParseUrl(schema_.url() + settings));
  const auto deadline = std::chrono::steady_clock::now() + 1min;
  const auto connection = pool.Take(deadline);
  connection->SendOnce(
      "SELECT concat_ws(' ', current_setting('statement_timeout'),"
      " current_setting('idle_session_timeout'), current_setting('lock_timeout'))");
  EXPECT_EQ(connection->Run(deadline).back().Text(0, 0), "0 0 250ms");
}

}  // namespace
}  // namespace doclock::postgresql_test
