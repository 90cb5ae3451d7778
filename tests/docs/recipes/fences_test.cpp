// The SQL of docs/how-to/fences.md, with holders that come late.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "doclock/doclock.h"
#include "doclock/testing/faulty_store.h"
#include "process/temp_folder.h"
#include "repository/support/pause.h"
#include "sqlite/support/raw_database.h"

namespace doclock {
namespace {

/// The statements of the page's blocks of SQL, in their order.
std::vector<std::string> Statements() {
  std::ifstream page(DOCLOCK_DOCS "/how-to/fences.md");
  std::stringstream all;
  all << page.rdbuf();
  const std::string text = std::regex_replace(all.str(), std::regex("--.*"), "");
  std::vector<std::string> statements;
  const std::regex block("```sql\n([^`]*)```");
  for (std::sregex_iterator it(text.begin(), text.end(), block), end; it != end; ++it) {
    const std::string sql = (*it)[1];
    const std::regex statement("[^;]*;");
    for (std::sregex_iterator s(sql.begin(), sql.end(), statement); s != end; ++s) {
      statements.push_back(s->str());
    }
  }
  return statements;
}

class FencesRecipe : public ::testing::Test {
 protected:
  FencesRecipe() {
    sql_.Run(
        "CREATE TABLE shipments(order_id PRIMARY KEY, address, fence DEFAULT 0);"
        "INSERT INTO shipments(order_id) VALUES ('42'), ('43');"
        "CREATE TABLE fences(resource PRIMARY KEY, highest);"
        "CREATE TABLE stock(item PRIMARY KEY, amount);"
        "INSERT INTO stock VALUES ('pen', 10)");
  }
  /// Runs a statement with the values of a holder; returns how many rows it changed.
  std::int64_t Run(std::size_t statement, const std::string& order, std::int64_t fence) {
    std::string text = Statements().at(statement);
    for (const auto& [name, value] :
         {std::pair{":order", "'" + order + "'"}, std::pair{":fence", std::to_string(fence)},
          std::pair{":address", "'of " + std::to_string(fence) + "'"},
          std::pair{":item", std::string("'pen'")}}) {
      text = std::regex_replace(text, std::regex(name), value);
    }
    const std::int64_t before = sql_.Number("SELECT total_changes()");
    sql_.Run(text);
    return sql_.Number("SELECT total_changes()") - before;
  }
  /// The second block: takes a pen, and tells whether it was allowed to.
  bool Take(const std::string& order, std::int64_t fence) {
    sql_.Run("BEGIN IMMEDIATE");
    Run(1, order, fence);
    const bool allowed = Run(2, order, fence) == 1;
    if (allowed) Run(3, order, fence);
    sql_.Run(allowed ? "COMMIT" : "ROLLBACK");
    return allowed;
  }
  /// A paused holder's fence, and that of the next one.
  std::pair<std::int64_t, std::int64_t> TwoHolders() {
    const std::shared_ptr<Store> store = OpenMemoryStore();
    const LockManager manager(store);
    const LockProvider orders(manager, "orders");
    HeldLock paused = orders.Acquire("42");
    testing::ExpireLock(*store, "orders", Key("42"));
    return {paused.fence(), orders.Acquire("42").fence()};
  }

  test::TempFolder folder_;
  sqlite_test::RawDatabase sql_{folder_ / "other.db"};
};

TEST_F(FencesRecipe, APausedHolderThatWritesLateChangesNothing) {
  const auto [paused, next] = TwoHolders();
  EXPECT_EQ(Run(0, "42", next), 1);
  EXPECT_EQ(Run(0, "42", paused), 0);
  EXPECT_EQ(sql_.Text("SELECT address FROM shipments WHERE order_id = '42'"),
            "of " + std::to_string(next));
}

TEST_F(FencesRecipe, APausedHolderThatWritesSeveralRowsLateChangesNone) {
  const auto [paused, next] = TwoHolders();
  EXPECT_TRUE(Take("42", next));
  EXPECT_FALSE(Take("42", paused));
  EXPECT_EQ(sql_.Number("SELECT amount FROM stock"), 9);
}

TEST_F(FencesRecipe, TheFenceOfOneDocumentRefusesNoHolderOfAnother) {
  EXPECT_EQ(Run(0, "42", 1000), 1);
  EXPECT_EQ(Run(0, "43", 1), 1);
  EXPECT_TRUE(Take("42", 1000));
  EXPECT_TRUE(Take("43", 1));
  EXPECT_EQ(sql_.Number("SELECT amount FROM stock"), 8);
}

}  // namespace
}  // namespace doclock
