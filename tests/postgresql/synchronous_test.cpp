#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>

#include "conformance/suite/store_conformance.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;

/// A server whose commits wait for a standby, of which there is none. Only where an administrator
/// cancels the wait does a commit return, and the server shows then what no standby has.
class PostgresqlSynchronous : public ::testing::Test {
 protected:
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

 private:
  std::string Ask(const std::string& what) {
    return server_.Run("SELECT " + what + " FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  }

  RawServer server_{DOCLOCK_POSTGRESQL_FAILOVER_URL};
};

/// In one statement, and in a transaction that grants the lock to a waiter.
TEST_F(PostgresqlSynchronous, ACommitWhoseWaitForAStandbyIsCancelledIsInDoubt) {
  const auto store = OpenPostgresqlStore(schema_.url() + "%20-cclient_min_messages%3Derror");
  conformance::Client things(store);
  for (const bool has_waiter : {false, true}) {
    SCOPED_TRACE(has_waiter);
    const Key key(has_waiter ? "43" : "42");
    const AcquireOp held = things.Create(key);
    if (has_waiter) {
      ASSERT_TRUE(things.Acquire(key, {.queue_for = conformance::kTtl}).result.queued);
    }
    WriteOp release = things.ReleaseOf(key, held.request.grant.lock_id);
    StoreOp* const releasing[] = {&release};
    Wait();
    {
      const std::jthread cancels([this] {
        AwaitWaiting();
        Cancel();
      });
      store->Execute(releasing, 30s);
    }
    EXPECT_EQ(release.status, OpStatus::kInDoubt);
    SetStandbys("");
  }
}

}  // namespace
}  // namespace doclock::postgresql_test
