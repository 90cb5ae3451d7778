// Answers that are lost, on a server whose epoch has risen since the documents were written.

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doclock/doclock.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/support/proxy.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using nlohmann::json;

class PostgresqlDoubt : public ::testing::Test {
 protected:
  using Documents = LockingRepository<json>;

  void SetUp() override {
    for (const char* key : {"7", "8"}) orders_.Insert(key, json({{"n", 1}}));
  }
  /// From now on the server is one that was promoted.
  void BeginEpoch() {
    schema_.raw().Run(
        "UPDATE doclock_meta SET value = '1' WHERE name LIKE 'epoch of %';"
        " SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
        " WHERE application_name = current_schema()");
  }
  void ExpectVersion(const std::string& key, std::int64_t version) {
    EXPECT_EQ(schema_.raw().Run("SELECT lock_version FROM doclock_c_orders WHERE key_text = '" +
                                key + "'"),
              std::to_string(version));
  }

  static constexpr std::int64_t kFloor = std::int64_t{1} << 7;
  Schema schema_;
  Proxy proxy_{std::stoi(DOCLOCK_POSTGRESQL_PORT)};
  LockManager manager_{OpenPostgresqlStore(proxy_.Before(schema_.url()) + "&application_name=" +
                                           schema_.raw().Run("SELECT current_schema()"))};
  Documents orders_{manager_, "orders"};
};

TEST_F(PostgresqlDoubt, OfASaveLeavesTheVersionThatIsStored) {
  auto order = orders_.Find("7").value();
  BeginEpoch();
  proxy_.Lose("COMMIT");
  (*order)["n"] = 2;
  orders_.Save(order);
  EXPECT_EQ(proxy_.losses(), 1);
  EXPECT_EQ(order.version(), kFloor);
  ExpectVersion("7", kFloor);
  (*order)["n"] = 3;
  EXPECT_NO_THROW(orders_.Save(order)) << "nobody else wrote";
}

TEST_F(PostgresqlDoubt, OfAnInsertLeavesTheVersionThatIsStored) {
  BeginEpoch();
  proxy_.Lose("COMMIT");
  EXPECT_EQ(orders_.Insert("9", json({{"n", 1}})), kFloor);
  EXPECT_EQ(proxy_.losses(), 1);
  ExpectVersion("9", kFloor);
}

TEST_F(PostgresqlDoubt, OfAHoldersWriteIsProved) {
  auto held = orders_.Lock("7");
  BeginEpoch();
  proxy_.Lose("UPDATE 1");
  (*held)["n"] = 2;
  held.Save();
  EXPECT_EQ(proxy_.losses(), 1);
  ExpectVersion("7", kFloor);
  (*held)["n"] = 3;
  EXPECT_NO_THROW(held.Release());
  ExpectVersion("7", kFloor + 1);
}

TEST_F(PostgresqlDoubt, OfATransactionIsProvedForAllOfIt) {
  auto held = orders_.Lock("7");
  auto seen = orders_.Find("8").value();
  BeginEpoch();
  proxy_.Lose("COMMIT");
  (*held)["n"] = (*seen)["n"] = 2;
  Transaction(manager_).Save(held).Save(orders_, seen).Commit();
  EXPECT_EQ(proxy_.losses(), 1);
  ExpectVersion("7", kFloor);
  EXPECT_EQ(seen.version(), kFloor);
  (*held)["n"] = (*seen)["n"] = 3;
  EXPECT_NO_THROW(held.Release());
  EXPECT_NO_THROW(orders_.Save(seen));
}

TEST_F(PostgresqlDoubt, IsNotOfWhatStoresNothing) {
  auto expect_again = [&, losses = 0](const char* lost, const auto& call) mutable {
    SCOPED_TRACE(lost);
    proxy_.Lose(lost);
    call();
    EXPECT_EQ(proxy_.losses(), ++losses);
  };
  const auto finds = [&] { EXPECT_EQ(orders_.Find(Filter()).size(), 2U); };
  const auto locks = [&] { EXPECT_TRUE(orders_.TryLockNext(Filter().Equal("n", 1))); };
  const auto lists = [&] { EXPECT_EQ(orders_.Admin().Status().size(), 2U); };
  const auto purges = [&] { EXPECT_EQ(orders_.Admin().Purge().expired, 2); };
  for (const char* lost : {"BEGIN", "FETCH"}) {
    expect_again(lost, finds);
    expect_again(lost, locks);
    for (const char* key : {"7", "8"}) orders_.Lock(key).Detach();
    expect_again(lost, lists);
    schema_.raw().Run("UPDATE doclock_c_orders SET lock_time = lock_time - interval '1 day'");
    expect_again(lost, purges);
  }
  expect_again("SELECT", [&] { EXPECT_GT(manager_.StoreTime(), Date()); });
  const auto names = [&] { return manager_.store()->ListCollections(std::chrono::seconds(10)); };
  expect_again("SELECT", [&] { EXPECT_EQ(names(), std::vector<std::string>{"orders"}); });
  expect_again("SELECT", [&] { Documents(manager_, "others").Insert("7", json::object()); });
}

/// Those that it cleared would not be counted.
TEST_F(PostgresqlDoubt, OfAPurgeIsToldAndNotRepeated) {
  orders_.Lock("7").Detach();
  schema_.raw().Run("UPDATE doclock_c_orders SET lock_time = lock_time - interval '1 day'");
  proxy_.Lose("COMMIT");
  EXPECT_THROW(orders_.Admin().Purge(), InDoubtException);
  EXPECT_EQ(orders_.Admin().Purge().expired, 0);
}

TEST_F(PostgresqlDoubt, IsNotOfWhatStoresNothingIfTheServerEndsAllSessions) {
  for (int round = 0; round < 20; ++round) {
    schema_.raw().Run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name = current_schema()");
    switch (round % 4) {
      case 0:
        EXPECT_EQ(orders_.Find(Filter()).size(), 2U);
        break;
      case 1:
        EXPECT_TRUE(orders_.Admin().Status().empty());
        break;
      case 2:
        EXPECT_EQ(orders_.Admin().Purge().expired, 0);
        break;
      default:
        EXPECT_GT(manager_.StoreTime(), Date());
    }
  }
}

}  // namespace
}  // namespace doclock::postgresql_test
