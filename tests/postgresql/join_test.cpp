// The user's own statements in a transaction over PostgreSQL.

#include <gmock/gmock.h>
#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "doclock/doclock.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/client/pool.h"
#include "postgresql/operations/joined_work.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;

using Work = std::function<void(PGconn*)>;

/// The first value that a statement gives. @throws std::runtime_error if it fails
std::string Value(PGconn* connection, const std::string& sql) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection, sql.c_str()),
                                                              PQclear);
  if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) {
    throw std::runtime_error(PQerrorMessage(connection));
  }
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

class PostgresqlJoin : public ::testing::Test {
 protected:
  void SetUp() override {
    orders_.Insert("7", json({{"n", 1}}));
    schema_.raw().Run(
        "SET client_min_messages = warning; CREATE TABLE customers(id text PRIMARY KEY);"
        " CREATE TABLE invoices(id text PRIMARY KEY,"
        " customer text REFERENCES customers DEFERRABLE INITIALLY DEFERRED)");
  }

  /// Commits a change of the document, with this work.
  void Commit(Locked<json>& order, Work work) {
    (*order)["n"] = 2;
    Transaction transaction(manager_);
    transaction.Release(order);
    Join(transaction, std::move(work));
    transaction.Commit();
  }
  /// Work that is refused, whose exception names the reason, and that stores nothing.
  template <class Exception = std::logic_error>
  void ExpectRefused(const Work& work, const std::string& why) {
    auto order = orders_.Lock("7");
    try {
      Commit(order, work);
      ADD_FAILURE() << "it was committed: " << why;
    } catch (const Exception& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
    EXPECT_TRUE(order.held());
    EXPECT_EQ(Invoices(), "0");
    EXPECT_EQ(Stored(), 1);
    order.Revert();
    order.Release();
  }
  std::string Invoices() { return schema_.raw().Run("SELECT count(*) FROM invoices"); }
  int Stored() { return orders_.Find("7").value()->at("n").get<int>(); }
  /// At the first commit of an invoice the server does this.
  void AtFirstCommit(const std::string& sql) {
    schema_.raw().Run(
        "CREATE SEQUENCE commits; CREATE FUNCTION once() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN IF nextval('commits') = 1 THEN " +
        sql +
        "; END IF; RETURN NULL; END $$;"
        " CREATE CONSTRAINT TRIGGER once AFTER INSERT ON invoices"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION once()");
  }

  Schema schema_;
  LockManager manager_{OpenPostgresqlStore(schema_.url())};
  LockingRepository<json> orders_{manager_, "orders"};
};

TEST_F(PostgresqlJoin, GoesInWithTheDocumentsWhichAreKeptMeanwhile) {
  auto order = orders_.Lock("7");
  std::string free;
  Commit(order, [&](PGconn* connection) {
    Value(connection, "INSERT INTO invoices VALUES('a')");
    Value(connection, "SAVEPOINT s; INSERT INTO invoices VALUES('b'); ROLLBACK TO s");
    free = schema_.raw().Run(
        "SELECT count(*) FROM (SELECT FROM doclock_c_orders FOR UPDATE SKIP LOCKED) rows");
  });
  EXPECT_EQ(free, "0");
  EXPECT_EQ(Invoices(), "1");
  EXPECT_EQ(Stored(), 2);
  auto again = orders_.Lock("7");
  again.Release();
}

TEST_F(PostgresqlJoin, ThatThrowsRollsAllBackAndKeepsTheLock) {
  const Work work = [](PGconn* connection) {
    Value(connection, "INSERT INTO invoices VALUES('a')");
    throw std::range_error("the printer is out of paper");
  };
  ExpectRefused<std::range_error>(work, "out of paper");
  const Work fails = [](PGconn* connection) { Value(connection, "SELECT 1/0"); };
  ExpectRefused<std::runtime_error>(fails, "division by zero");
}

TEST_F(PostgresqlJoin, ThatEndsTheTransactionIsAMistake) {
  for (const char* sql : {"COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN",
                          "COMMIT AND CHAIN", "COMMIT; BEGIN; SELECT pg_current_xact_id()"}) {
    SCOPED_TRACE(sql);
    ExpectRefused([&](PGconn* connection) { Value(connection, sql); }, "ended the transaction");
  }
  ExpectRefused([](PGconn* connection) { PQreset(connection); }, "ended the transaction");
}

TEST_F(PostgresqlJoin, WhatItCommittedItselfIsStored) {
  auto order = orders_.Lock("7");
  const Work work = [](PGconn* connection) {
    Value(connection, "INSERT INTO invoices VALUES('a'); COMMIT");
  };
  EXPECT_THROW(Commit(order, work), std::logic_error);
  EXPECT_EQ(Invoices(), "1");
  EXPECT_EQ(Stored(), 1);
  EXPECT_TRUE(order.held());
}

TEST_F(PostgresqlJoin, ThatLeavesSomethingUnfinishedIsAMistake) {
  const std::string open = "left a COPY, results or a pipeline open";
  for (const char* sql : {"COPY invoices FROM STDIN", "COPY pg_class TO STDOUT"}) {
    SCOPED_TRACE(sql);
    ExpectRefused([&](PGconn* connection) { PQclear(PQexec(connection, sql)); }, open);
  }
  const Work sends = [](PGconn* connection) {
    PQsendQuery(connection, "INSERT INTO invoices VALUES('a') RETURNING id");
  };
  ExpectRefused(sends, open);
  const Work pipelines = [&](PGconn* connection) {
    PQenterPipelineMode(connection);
    PQsendQueryParams(connection, "SELECT 1", 0, nullptr, nullptr, nullptr, nullptr, 0);
    PQpipelineSync(connection);
  };
  ExpectRefused(pipelines, open);
  const Work fails = [](PGconn* connection) { PQclear(PQexec(connection, "SELECT 1/0")); };
  ExpectRefused(fails, "went on after a statement that failed");
}

TEST_F(PostgresqlJoin, LeavesNothingInTheSession) {
  auto order = orders_.Lock("7");
  std::string process;
  const auto commit = [&](const Work& work) {
    (*order)["n"] = 2;
    Transaction transaction(manager_);
    transaction.Save(order);
    Join(transaction, work);
    transaction.Commit();
  };
  commit([&](PGconn* connection) {
    Value(
        connection,
        "SET synchronous_commit = off; SET search_path = pg_catalog; SET statement_timeout = '1h';"
        " DEALLOCATE ALL; PREPARE mine AS SELECT 1; CREATE TEMP TABLE left_over();"
        " SELECT pg_advisory_lock(1); LISTEN mine");
    process = Value(connection, "SELECT pg_backend_pid()");
  });
  commit([&](PGconn* connection) {
    EXPECT_EQ(Value(connection, "SELECT pg_backend_pid()"), process);
    EXPECT_EQ(Value(connection, "SHOW synchronous_commit"), "on");
    EXPECT_NE(Value(connection, "SHOW statement_timeout"), "1h");
    EXPECT_EQ(Value(connection, "SELECT to_regclass('left_over')"), "");
    EXPECT_EQ(Value(connection, "SELECT count(*) FROM pg_listening_channels()"), "0");
    EXPECT_EQ(Value(connection,
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                    " AND pid = pg_backend_pid()"),
              "0");
    Value(connection, "PREPARE mine AS SELECT 1; INSERT INTO invoices VALUES('a')");
  });
  EXPECT_EQ(Invoices(), "1");
}

TEST_F(PostgresqlJoin, LeavesNothingInTheSessionWithAShortTimeoutEither) {
  const Work prepare = [](PGconn* connection) {
    Value(connection, "PREPARE mine AS SELECT 1; SET statement_timeout = '1ms'");
  };
  const Work end = [&](PGconn* connection) {
    prepare(connection);
    Value(connection, "COMMIT");
  };
  for (int i = 0; i < 3; ++i) ExpectRefused(end, "ended the transaction");
  for (int i = 0; i < 3; ++i) {
    auto order = orders_.Lock("7");
    Commit(order, prepare);
  }
}

TEST_F(PostgresqlJoin, ThatChangesTheEncodingChangesNoDocument) {
  auto order = orders_.Lock("7");
  (*order)["name"] = "Zo\u00eb";
  Commit(order, [](PGconn* connection) { Value(connection, "SET client_encoding = 'LATIN1'"); });
  EXPECT_EQ(orders_.Find("7").value()->at("name"), "Zo\u00eb");
}

TEST_F(PostgresqlJoin, DoesNotMakeTheCommitLessDurable) {
  schema_.raw().Run("CREATE TABLE seen(setting text)");
  AtFirstCommit("INSERT INTO seen VALUES(current_setting('synchronous_commit'))");
  for (const char* sql : {"SET LOCAL synchronous_commit = off", "SET synchronous_commit = local"}) {
    auto order = orders_.Lock("7");
    Commit(order, [&](PGconn* connection) {
      Value(connection, sql);
      Value(connection, "INSERT INTO invoices VALUES('a')");
    });
    EXPECT_EQ(schema_.raw().Run("SELECT setting FROM seen"), "on") << sql;
    schema_.raw().Run("DELETE FROM invoices; DELETE FROM seen; ALTER SEQUENCE commits RESTART");
  }
}

TEST_F(PostgresqlJoin, WhoseConnectionBreaksStoresNothing) {
  const auto end = [&](PGconn* connection) {
    schema_.raw().Run("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(connection)) +
                      ", 5000)");
    PQclear(PQexec(connection, "SELECT 1"));
  };
  ExpectRefused<StoreException>(end, "the connection broke in joined work");
  const Work throws = [&](PGconn* connection) {
    end(connection);
    throw std::range_error("away");
  };
  ExpectRefused<std::range_error>(throws, "away");
}

TEST_F(PostgresqlJoin, RunsAgainIfTheConnectionBreaksBehindIt) {
  auto order = orders_.Lock("7");
  int runs = 0;
  Commit(order, [&](PGconn* connection) {
    Value(connection, "INSERT INTO invoices VALUES('a')");
    if (++runs > 1) return;
    schema_.raw().Run("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(connection)) +
                      ", 5000)");
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(Invoices(), "1");
  EXPECT_EQ(Stored(), 2);
}

TEST_F(PostgresqlJoin, RunsAgainAfterACommitThatOthersRacedOrTheServerLost) {
  for (const char* sql : {"RAISE EXCEPTION USING ERRCODE = '40001'",
                          "PERFORM pg_terminate_backend(pg_backend_pid())"}) {
    SCOPED_TRACE(sql);
    AtFirstCommit(sql);
    auto order = orders_.Lock("7");
    int runs = 0;
    Commit(order, [&](PGconn* connection) {
      ++runs;
      Value(connection, "INSERT INTO invoices VALUES('a')");
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(Invoices(), "1");
    EXPECT_EQ(Stored(), 2);
    schema_.raw().Run(
        "DROP TRIGGER once ON invoices; DROP FUNCTION once; DROP SEQUENCE commits;"
        " DELETE FROM invoices");
  }
}

TEST_F(PostgresqlJoin, ThatBreaksADeferredConstraintIsRefusedAtTheCommit) {
  const Work work = [](PGconn* connection) {
    Value(connection, "INSERT INTO invoices VALUES('a', 'nobody')");
  };
  ExpectRefused<StoreException>(work, "SQLSTATE 23503");
}

TEST_F(PostgresqlJoin, ThatOutlastsTheCallIsRefused) {
  const auto deadline = std::chrono::steady_clock::now() + 50ms;
  postgresql::Pool pool(postgresql::ParseUrl(schema_.url()));
  const auto connection = pool.Take(deadline + 1min);
  connection->Begin();
  connection->Run(deadline + 1min);
  postgresql::JoinedWork work(*connection, deadline);
  EXPECT_THROW(work.Run([&](PGconn*) { std::this_thread::sleep_until(deadline); }), StoreException);
}

/// Also if another call with less time had the connection before.
TEST_F(PostgresqlJoin, MakesTheServerEndAStatementThatOutlastsTheCall) {
  postgresql::Pool pool(postgresql::ParseUrl(schema_.url()));
  const auto now = std::chrono::steady_clock::now();
  pool.Take(now + 60min);
  const auto connection = pool.Take(now + 100min);
  connection->Begin();
  postgresql::JoinedWork work(*connection, now + 100min);
  work.Run([](PGconn* lent) {
    const std::string setting = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'";
    const std::chrono::milliseconds limit(std::stoll(Value(lent, setting)));
    EXPECT_GT(limit, 90min);
    EXPECT_LE(limit, 100min);
  });
}

TEST_F(PostgresqlJoin, IsForPostgresqlOnly) {
  const LockManager memory(OpenMemoryStore());
  Transaction elsewhere(memory);
  EXPECT_THROW(Join(elsewhere, [](PGconn*) {}), std::invalid_argument);
  Transaction here(manager_);
  EXPECT_THROW(Join(here, Work()), std::invalid_argument);
}

}  // namespace
}  // namespace doclock::postgresql_test
