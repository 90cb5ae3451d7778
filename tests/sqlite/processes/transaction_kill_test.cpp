// kill -9 of processes that move amounts between two documents in transactions: all of one is
// stored, or nothing.

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "doclock/transaction.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"

namespace doclock::sqlite_test {
namespace {

TEST(SqliteTransactionKill, LeavesAllOfATransactionOrNothing) {
  DOCLOCK_NEEDS_COORDINATOR();
  using nlohmann::json;
  const TempFolder folder;
  const std::filesystem::path file = folder / "accounts.db";
  LockManager manager(OpenSqliteStore(file, {.sync = SqliteSync::kNormal}));
  const LockingRepository<json> accounts(manager, "accounts"), outbox(manager, "outbox");
  accounts.Insert("a", json({{"amount", 0}}));
  accounts.Insert("b", json({{"amount", 0}}));
  std::mt19937 random(20261125);
  for (int i = 0; i < Rounds(30); ++i) {
    Child worker({"transfer", file.string()});
    ASSERT_EQ(worker.Line(), "ready");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    // On a slow machine the others may be killed before their first transfer.
    while (i == 0 && accounts.Find("b").value()->at("amount") == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    worker.Kill();
    // Whoever gets the locks sees no half transfer; those of the dead are free.
    auto both = accounts.LockAll({"a", "b"}, {.wait = kForever});
    const int moved = both[1]->at("amount").get<int>();
    ASSERT_EQ(both[0]->at("amount").get<int>(), -moved);
    ASSERT_EQ(outbox.Find(Filter()).size(), static_cast<std::size_t>(moved));
  }
}

}  // namespace
}  // namespace doclock::sqlite_test
