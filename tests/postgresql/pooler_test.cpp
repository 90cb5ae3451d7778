// Behind pgbouncer.

#include <gmock/gmock.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/suite/store_conformance.h"
#include "doclock/doclock.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/client/pool.h"
#include "postgresql/support/pooler.h"
#include "postgresql/support/proxy.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using conformance::kTtl;
using nlohmann::json;
using ::testing::HasSubstr;

const int kPort = std::stoi(DOCLOCK_POSTGRESQL_PORT);

class PostgresqlPooler : public ::testing::Test {
 protected:
  using Documents = LockingRepository<json>;

  void SetUp() override {
    if (!Pooler::IsInstalled()) GTEST_SKIP() << "pgbouncer is not installed";
    pooler_.emplace("transaction", schema_.name(), kPort);
  }
  [[nodiscard]] std::string url() const { return pooler_->url(); }

  Schema schema_;
  std::optional<Pooler> pooler_;
};

TEST_F(PostgresqlPooler, ThatGivesEachTransactionAnotherSessionIsToldAndWaitersPoll) {
  const LockManager here{OpenPostgresqlStore(url())}, there{OpenPostgresqlStore(url())};
  const Documents ours(here, "orders"), theirs(there, "orders");
  const auto things = here.store()->Open("orders", {}, kTtl);
  EXPECT_EQ(here.store()->Watch(*things, [](const LockHint&) {}), nullptr);
  const std::vector<Finding> findings = here.store()->Examine(things.get(), 10s);
  EXPECT_TRUE(std::ranges::any_of(findings, [](const Finding& one) {
    return one.check == "pooler" && one.level == FindingLevel::kWarning &&
           one.text.find("each transaction") != std::string::npos;
  }));
  auto held = ours.Lock({"7", json({{"n", 1}})});
  std::jthread waiter([&] {
    auto next = theirs.Lock("7", {.wait = 1min});
    (*next)["n"] = (*next)["n"].get<int>() + 1;
    next.Release();
  });
  while (schema_.raw().Run("SELECT count(lock_queue) FROM doclock_c_orders") == "0") {
    std::this_thread::yield();
  }
  (*held)["n"] = 2;
  held.Release();
  waiter.join();
  EXPECT_EQ(ours.Find("7").value()->at("n"), 3);
}

TEST_F(PostgresqlPooler, FindsItsSettingsInEachTransactionAndLeavesNone) {
  const std::string changed =
      "SET default_transaction_isolation = 'serializable'; SET synchronous_commit = off;"
      " SET statement_timeout = '1234ms'";
  const std::string ask =
      "SELECT concat_ws(' ', current_setting('transaction_isolation'),"
      " current_setting('synchronous_commit'), current_setting('statement_timeout'),"
      " current_setting('lock_timeout'), (SELECT count(*) FROM pg_prepared_statements))";
  RawServer(url()).Run(changed);  // of a session that other clients are given too
  const LockManager manager{OpenPostgresqlStore(url())};
  const Documents documents(manager, "orders");
  auto held = documents.Lock({"7", json({{"n", 1}})});
  for (int i = 0; i < 3; ++i) {
    held.Save();
    held.Release();
    held = documents.Lock("7");
  }
  std::string during;
  Transaction transaction(manager);
  transaction.Release(held);
  Join(transaction, [&](PGconn* connection) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection, ask.c_str()),
                                                                PQclear);
    during = PQgetvalue(result.get(), 0, 0);
  });
  transaction.Commit();
  EXPECT_THAT(during, ::testing::StartsWith("read committed on "));
  EXPECT_THAT(RawServer(url()).Run(ask), HasSubstr("serializable off 1234ms 0 0"));
}

/// Each client has a transaction open now and then, so that sessions change hands.
TEST_F(PostgresqlPooler, KeepsTheCountsOfManyClients) {
  constexpr int kClients = 6, kTurns = 10;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([this] {
        const LockManager manager{OpenPostgresqlStore(url())};
        const Documents documents(manager, "orders");
        for (int turn = 0; turn < kTurns; ++turn) {
          auto held = documents.Lock({"7", json({{"n", 0}})}, {.wait = 1min});
          (*held)["n"] = (*held)["n"].get<int>() + 1;
          held.Release();
        }
      });
    }
  }
  const LockManager manager{OpenPostgresqlStore(schema_.url())};
  EXPECT_EQ(Documents(manager, "orders").Find("7").value()->at("n"), kClients * kTurns);
}

TEST_F(PostgresqlPooler, WithAnotherServerBehindItGrantsNothingByTheOldEpoch) {
  postgresql::Connection connection(postgresql::ParseUrl(url()),
                                    std::chrono::steady_clock::now() + 10s);
  connection.ShareSessions();
  connection.SetEpoch({"1/1", 0}, std::chrono::steady_clock::now() + 10s);
  connection.Begin();
  EXPECT_THROW(connection.Run(std::chrono::steady_clock::now() + 10s), postgresql::Loss);
  EXPECT_TRUE(connection.is_lost());
}

/// The connections of a client break as soon as two of its pipelines are in flight, or by chance.
TEST_F(PostgresqlPooler, GivesNoAnswersOfAClientThatDiesToAnother) {
  const LockManager manager{OpenPostgresqlStore(url())};
  const Documents documents(manager, "orders");
  constexpr int kKeys = 10;
  for (int i = 0; i < kKeys; ++i) {
    documents.Insert(Key(i), json({{"me", i}}));
  }
  const auto held = documents.Lock({"held", json({{"me", -1}})});
  Proxy proxy(std::stoi(url().substr(url().rfind(':') + 1)));
  proxy.BreakBehind(2);
  std::vector<std::jthread> dying;
  for (int i = 0; i < 3; ++i) {
    dying.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        try {
          const LockManager theirs{OpenPostgresqlStore(proxy.Before(url()))};
          const Documents others(theirs, "orders");
          while (!stop.stop_requested()) EXPECT_FALSE(others.TryLock("held"));
        } catch (const Error&) {  // its connection broke
        }
      }
    });
  }
  // On a quick machine the dying clients have not begun by then.
  for (int turn = 0; turn < 300 || (proxy.most_in_flight() == 0 && turn < 5000); ++turn) {
    const int i = turn % kKeys;
    if (turn % 50 == 0) proxy.BreakAll();
    if (turn % 3 != 0) {
      const auto found = documents.Find(Key(i));
      ASSERT_TRUE(found) << i;
      ASSERT_EQ((*found)->at("me"), i);
    } else {
      auto lock = documents.Lock(Key(i));
      ASSERT_EQ(lock->at("me"), i);
      lock.Release();
    }
  }
  EXPECT_EQ(proxy.most_in_flight(), 1);
}

TEST_F(PostgresqlPooler, RefusesWhatItCannotDoAtTheOpening) {
  const auto expect_refused = [](const std::string& url, const char* reason) {
    try {
      OpenPostgresqlStore(url);
      ADD_FAILURE() << reason;
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(reason));
    }
  };
  const Pooler statements("statement", schema_.name(), kPort);
  expect_refused(statements.url(), "statement pooling mode");
  expect_refused(url() + "?options=-csearch_path%3D" + schema_.name(), "startup parameter");
  {
    const Pooler hiding("session", "public", kPort, "ignore_startup_parameters = options\n");
    for (const char* const option : {"-csearch_path%3D", "--Search-Path%3D",
                                     "-csearch_path%3Dpublic,", "-csearch_path%3Dpublic"}) {
      expect_refused(hiding.url() + "?options=" + option + schema_.name(),
                     "the pooler ignores the search_path");
    }
  }
  // It has that one anyway.
  const Pooler hiding("session", schema_.name(), kPort, "ignore_startup_parameters = options\n");
  EXPECT_NO_THROW(OpenPostgresqlStore(hiding.url() + "?options=-csearch_path%3D" + schema_.name()));
  expect_refused(url().substr(0, url().rfind('/')) + "/nonesuch", "bouncer config error");
}

TEST_F(PostgresqlPooler, ThatKeepsWholeSessionsHasNotifications) {
  const Pooler pooler("session", schema_.name(), kPort);
  const auto store = OpenPostgresqlStore(pooler.url());
  const auto things = store->Open("orders", {}, kTtl);
  EXPECT_NE(store->Watch(*things, [](const LockHint&) {}), nullptr);
}

}  // namespace
}  // namespace doclock::postgresql_test
