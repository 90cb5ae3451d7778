#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "doclock/doclock.h"
#include "doclock/stores/sqlite.h"
#include "doclock/testing/manual_clock.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class SqliteJoin : public SqliteTest {
 protected:
  void SetUp() override {
    orders_.Insert("7", json({{"n", 1}}));
    RawDatabase(file_).Run("CREATE TABLE invoices(id TEXT PRIMARY KEY)");
  }

  static int Run(sqlite3* database, const std::string& sql) {
    return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  }
  /// Commits a change of the document, with this work.
  void Commit(Locked<json>& order, std::function<void(sqlite3*)> work) {
    (*order)["n"] = 2;
    Transaction transaction(manager_);
    transaction.Release(order);
    Join(transaction, std::move(work));
    transaction.Commit();
  }
  std::string Invoices() { return RawDatabase(file_).Text("SELECT count(*) FROM invoices"); }
  int Stored() { return orders_.Find("7").value()->at("n").get<int>(); }

  LockManager manager_{OpenSqliteStore(file_)};
  LockingRepository<json> orders_{manager_, "orders"};
};

TEST_F(SqliteJoin, GoesInWithTheDocuments) {
  auto order = orders_.Lock("7");
  Commit(order, [](sqlite3* database) {
    EXPECT_EQ(Run(database, "INSERT INTO invoices VALUES('a')"), SQLITE_OK);
    EXPECT_EQ(Run(database, "SAVEPOINT s; INSERT INTO invoices VALUES('b'); ROLLBACK TO s"),
              SQLITE_OK);
  });
  EXPECT_EQ(Invoices(), "1");
  EXPECT_EQ(Stored(), 2);
  auto again = orders_.Lock("7");
  again.Release();
}

TEST_F(SqliteJoin, ThatThrowsRollsAllBackAndKeepsTheLock) {
  auto order = orders_.Lock("7");
  const auto work = [](sqlite3* database) {
    EXPECT_EQ(Run(database, "INSERT INTO invoices VALUES('a')"), SQLITE_OK);
    throw std::runtime_error("the printer is out of paper");
  };
  EXPECT_THROW(Commit(order, work), std::runtime_error);
  EXPECT_EQ(Invoices(), "0");
  EXPECT_EQ(Stored(), 1);
  EXPECT_TRUE(order.held());
  Commit(order, [](sqlite3*) {});
  EXPECT_EQ(Stored(), 2);
}

TEST_F(SqliteJoin, MayNotEndTheTransactionNorTouchTheTablesOfTheLibrary) {
  auto order = orders_.Lock("7");
  Commit(order, [](sqlite3* database) {
    for (const char* sql :
         {"COMMIT", "ROLLBACK", "BEGIN", "PRAGMA user_version=7", "ATTACH ':memory:' AS other",
          "DETACH main", "DELETE FROM doclock_meta", "DROP TABLE doclock_meta",
          "INSERT INTO doclock_meta VALUES('x', 1)", "UPDATE doclock_meta SET value=0",
          "ALTER TABLE doclock_meta ADD COLUMN mine", "CREATE TABLE doclock_mine(x)",
          "CREATE INDEX mine ON doclock_meta(value)", "CREATE TEMP TABLE DOCLOCK_mine(x)",
          "CREATE TRIGGER mine AFTER INSERT ON doclock_meta BEGIN SELECT 1; END"}) {
      EXPECT_EQ(Run(database, sql), SQLITE_AUTH) << sql;
    }
    EXPECT_EQ(Run(database, "SELECT * FROM doclock_meta"), SQLITE_OK);
    EXPECT_EQ(Run(database,
                  "CREATE TABLE mine(x); CREATE INDEX of_mine ON mine(x); "
                  "ALTER TABLE mine ADD COLUMN y; DROP TABLE mine"),
              SQLITE_OK);
  });
  EXPECT_EQ(Stored(), 2);
}

TEST_F(SqliteJoin, ThatEndsTheTransactionAllTheSameIsAMistake) {
  auto order = orders_.Lock("7");
  const auto work = [](sqlite3* database) {
    EXPECT_EQ(Run(database, "INSERT INTO invoices VALUES('a')"), SQLITE_OK);
    EXPECT_EQ(Run(database, "INSERT OR ROLLBACK INTO invoices VALUES('a')"),
              SQLITE_CONSTRAINT_PRIMARYKEY);
    EXPECT_EQ(Run(database, "INSERT INTO invoices VALUES('b')"), SQLITE_CONSTRAINT_COMMITHOOK);
    EXPECT_EQ(Run(database, "SAVEPOINT s; INSERT INTO invoices VALUES('c')"), SQLITE_OK);
  };
  EXPECT_THROW(Commit(order, work), std::logic_error);
  EXPECT_EQ(Invoices(), "0");
  EXPECT_TRUE(order.held());
  EXPECT_EQ(Stored(), 1);
  order.Discard();
}

/// A statement that is left open would keep the transaction, and every later one.
TEST_F(SqliteJoin, ThatLeavesAStatementOpenIsAMistake) {
  auto order = orders_.Lock("7");
  for (const bool throws : {false, true}) {
    for (const char* sql :
         {"SELECT * FROM numbers", "INSERT INTO invoices SELECT n FROM numbers RETURNING id"}) {
      sqlite3_stmt* open = nullptr;
      const auto work = [&](sqlite3* database) {
        EXPECT_EQ(Run(database, "CREATE TABLE numbers(n); INSERT INTO numbers VALUES(1), (2)"),
                  SQLITE_OK);
        EXPECT_EQ(sqlite3_prepare_v2(database, sql, -1, &open, nullptr), SQLITE_OK);
        EXPECT_EQ(sqlite3_step(open), SQLITE_ROW);
        if (throws) throw std::logic_error("the printer is out of paper");
      };
      EXPECT_THROW(Commit(order, work), std::logic_error) << sql;
      EXPECT_EQ(Invoices(), "0");
      RawDatabase(file_).Run("INSERT INTO invoices VALUES('mine'); DELETE FROM invoices");
      order.Revert();
      order.Save();
      sqlite3_finalize(open);
    }
  }
  sqlite3_stmt* prepared = nullptr;
  const auto prepare = [&](sqlite3* database) {
    EXPECT_EQ(sqlite3_prepare_v2(database, "SELECT 1", -1, &prepared, nullptr), SQLITE_OK);
  };
  EXPECT_THROW(Commit(order, prepare), std::logic_error);
  sqlite3_finalize(prepared);
  Commit(order, [](sqlite3*) {});
  EXPECT_EQ(Stored(), 2);
}

/// SQLite looks at it when the transaction commits, and leaves that open.
TEST_F(SqliteJoin, ThatADeferredConstraintForbidsIsRefused) {
  RawDatabase(file_).Run(
      "CREATE TABLE lines(invoice REFERENCES invoices DEFERRABLE INITIALLY DEFERRED)");
  auto order = orders_.Lock("7");
  const auto work = [](sqlite3* database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
    EXPECT_EQ(Run(database, "INSERT INTO lines VALUES('missing')"), SQLITE_OK);
  };
  try {
    Commit(order, work);
    ADD_FAILURE() << "it was committed";
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused) << error.what();
  }
  EXPECT_EQ(RawDatabase(file_).Number("SELECT count(*) FROM lines"), 0);
  EXPECT_EQ(Stored(), 1);
  EXPECT_TRUE(order.held());
  order.Discard();
}

/// A conflict clause, when the work has taken the hooks that would tell.
TEST_F(SqliteJoin, ThatEndsTheTransactionWithHooksOfItsOwnIsAMistake) {
  auto order = orders_.Lock("7");
  const auto work = [](sqlite3* database) {
    EXPECT_EQ(Run(database, "INSERT INTO invoices VALUES('a')"), SQLITE_OK);
    sqlite3_rollback_hook(database, nullptr, nullptr);
    sqlite3_commit_hook(database, nullptr, nullptr);
    EXPECT_EQ(Run(database, "INSERT OR ROLLBACK INTO invoices VALUES('a')"),
              SQLITE_CONSTRAINT_PRIMARYKEY);
  };
  EXPECT_THROW(Commit(order, work), std::logic_error);
  EXPECT_EQ(Stored(), 1);
  order.Discard();
}

/// Handlers of the work's own would take the deadlines from all later calls.
TEST_F(SqliteJoin, SetsNoHandlersForLaterCalls) {
  auto order = orders_.Lock("7");
  Commit(order, [](sqlite3* database) {
    sqlite3_progress_handler(
        database, 1, [](void*) { return 1; }, nullptr);
    sqlite3_busy_timeout(database, 0);
    sqlite3_progress_handler(
        database, 1000, [](void*) { return 1; }, nullptr);
  });
  auto again = orders_.Lock("7");
  RawDatabase other(file_);
  other.Run("BEGIN IMMEDIATE");
  auto released = again.ReleaseAsync();
  std::this_thread::sleep_for(20ms);  // correct either way
  other.Run("COMMIT");
  EXPECT_NO_THROW(released.get());
}

/// No other client can have taken the lock: the file is this transaction's.
TEST_F(SqliteJoin, ALeaseThatEndsMeanwhileStopsNoWriteAndIsNotHeldAfterwards) {
  const auto clock = std::make_shared<testing::ManualClock>();
  LockManager manager(OpenSqliteStore(folder_ / "leases.db", {.clock = clock}),
                      {.runtime = clock->runtime()});
  RawDatabase(folder_ / "leases.db").Run("CREATE TABLE invoices(id TEXT PRIMARY KEY)");
  const LockingRepository<json> orders(manager, "orders");
  auto released = orders.Lock({"1", json{{"n", 1}}}, {.ttl = 10s});
  auto saved = orders.Lock({"2", json{{"n", 1}}}, {.ttl = 10s});
  (*released)["n"] = (*saved)["n"] = 2;
  Transaction transaction(manager);
  transaction.Release(released).Save(saved);
  Join(transaction, [&](sqlite3* database) {
    EXPECT_EQ(Run(database, "INSERT INTO invoices VALUES('a')"), SQLITE_OK);
    clock->Jump(11s);
  });
  transaction.Commit();
  EXPECT_EQ(orders.Find("1").value()->at("n"), 2);
  EXPECT_EQ(orders.Find("2").value()->at("n"), 2);
  EXPECT_EQ(RawDatabase(folder_ / "leases.db").Text("SELECT count(*) FROM invoices"), "1");
  EXPECT_FALSE(saved.held());
  EXPECT_TRUE(orders.TryLock("1"));
  clock->Advance(10s);
  EXPECT_TRUE(orders.TryLock("2"));
}

TEST_F(SqliteJoin, IsForSqliteOnly) {
  const LockManager memory(OpenMemoryStore());
  Transaction transaction(memory);
  EXPECT_THROW(Join(transaction, [](sqlite3*) {}), std::invalid_argument);
}

TEST_F(SqliteJoin, NeedsADocumentAndIsOne) {
  Transaction transaction(manager_);
  Join(transaction, [](sqlite3*) {});
  EXPECT_THROW(Join(transaction, [](sqlite3*) {}), std::logic_error);
  EXPECT_THROW(transaction.Commit(), std::logic_error);
}

}  // namespace
}  // namespace doclock::sqlite_test
