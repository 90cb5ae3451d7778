#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "conformance/suite/store_conformance.h"
#include "doclock/doclock.h"
#include "doclock/postgresql_store.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using Documents = LockingRepository<nlohmann::json>;

/// A server whose commits wait for a standby, of which there is none. Only where an administrator
/// cancels the wait does a commit return, and the server shows then what no standby has.
class PostgresqlSynchronous : public ::testing::Test {
 protected:
  PostgresqlSynchronous() { documents_.Insert("42", {{"n", 1}}); }
  ~PostgresqlSynchronous() override { SetStandbys(""); }

  void SetStandbys(const std::string& names) {
    server_.Run("ALTER SYSTEM SET synchronous_standby_names = '" + names + "'");
    server_.Run("SELECT pg_reload_conf()");
  }
  /// From its return on, commits wait.
  void Wait() {
    SetStandbys("nobody");
    // The server takes the setting at some time.
    std::jthread commits([](const std::stop_token& stop) {
      RawServer other(DOCLOCK_POSTGRESQL_FAILOVER_URL);
      other.Run("SET client_min_messages = error");
      while (!stop.stop_requested()) other.Run("SELECT pg_logical_emit_message(true, 'test', '')");
    });
    AwaitWaiting();
    commits.request_stop();
    Cancel();
  }
  void AwaitWaiting() {
    for (int i = 0; i < 30'000; ++i) {
      if (Ask("count(*)") != "0") return;
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << "no commit waits for a standby";
  }
  void Cancel() { Ask("count(pg_cancel_backend(pid))"); }

  Schema schema_{DOCLOCK_POSTGRESQL_FAILOVER_URL};
  const LockManager manager_{
      OpenPostgresqlStore(schema_.url() + "%20-cclient_min_messages%3Derror"), {.call_budget = 2s}};
  const Documents documents_{manager_, "things"};

 private:
  std::string Ask(const std::string& what) {
    return server_.Run("SELECT " + what + " FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  }

  RawServer server_{DOCLOCK_POSTGRESQL_FAILOVER_URL};
};

TEST_F(PostgresqlSynchronous, ACommitThatNoStandbyHasStaysInDoubt) {
  auto held = documents_.Lock("42", {.ttl = 1min});
  held->at("n") = 2;
  Wait();
  const std::jthread cancels([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Cancel();
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_THROW(held.Release(), InDoubtException);
  EXPECT_EQ(schema_.raw().Run("SELECT body ->> 'n' FROM doclock_c_things"), "2");
}

/// What a release in doubt granted from the queue, to a waiter of any process.
TEST_F(PostgresqlSynchronous, AnAcquireThatFindsItsGrantWaitsForTheStandbys) {
  for (const bool same : {true, false}) {
    SCOPED_TRACE(same);
    const std::string url = schema_.url() + "%20-cclient_min_messages%3Derror";
    const auto store = OpenPostgresqlStore(url), other = same ? store : OpenPostgresqlStore(url);
    conformance::Client things(*store, store->Open("things", {}, conformance::kTtl));
    const auto seen = other->Open("things", {}, conformance::kTtl);
    const Key key(same ? "43" : "44");
    const AcquireOp held = things.Create(key);
    AcquireOp waiter(*seen, key);
    waiter.grant.lock_id = NewUuid();
    waiter.grant.ttl = waiter.grant.queue_for = conformance::kTtl;
    StoreOp* const waiting[] = {&waiter};
    other->Execute(waiting, 30s);
    ASSERT_EQ(waiter.status, OpStatus::kBusy);
    WriteOp release(things.collection(), key);
    release.write = WriteKind::kRelease;
    release.lock_id = held.grant.lock_id;
    StoreOp* const releasing[] = {&release};
    Wait();
    {
      const std::jthread cancels([this] {
        AwaitWaiting();
        Cancel();
      });
      store->Execute(releasing, 30s);
    }
    ASSERT_EQ(release.status, OpStatus::kInDoubt);
    waiter.MakePending();
    other->Execute(waiting, 500ms);
    EXPECT_EQ(waiter.status, OpStatus::kFailed) << "the grant may not be on a standby";
    SetStandbys("");
    waiter.MakePending();
    other->Execute(waiting, 30s);
    EXPECT_EQ(waiter.status, OpStatus::kDone);
    EXPECT_TRUE(waiter.passed_on);
  }
}

TEST_F(PostgresqlSynchronous, ACommitWhoseWaitWasCancelledIsDoneOnceTheStandbysHaveIt) {
  auto held = documents_.Lock("42", {.ttl = 1min});
  held->at("n") = 2;
  Wait();
  const std::jthread cancels([this] {
    AwaitWaiting();
    Cancel();
    std::this_thread::sleep_for(50ms);
    AwaitWaiting();  // for what the look has read
    SetStandbys("");
  });
  EXPECT_NO_THROW(held.Release());
}

}  // namespace
}  // namespace doclock::postgresql_test
