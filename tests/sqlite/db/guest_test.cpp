// The file may be the user's own.

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "doclock/locking_repository.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteGuest : public SqliteTest {};

TEST_F(SqliteGuest, UsersTablesStayAsTheyAre) {
  RawDatabase own(file_);
  own.Run(
      "PRAGMA user_version=7; PRAGMA application_id=1234; CREATE TABLE mine(a);"
      "INSERT INTO mine VALUES('text')");
  Client client(file_);
  client.Release("1", client.Create("1"));
  EXPECT_EQ(own.Text("SELECT a FROM mine"), "text");
  EXPECT_EQ(own.Number("PRAGMA user_version"), 7);
  EXPECT_EQ(own.Number("PRAGMA application_id"), 1234);
  EXPECT_EQ(own.Number("SELECT count(*) FROM sqlite_master WHERE type='table' AND name<>'mine' "
                       "AND name NOT LIKE 'doclock_%' AND name NOT LIKE 'sqlite_%'"),
            0);
}

TEST_F(SqliteGuest, BodiesCanBeReadWithAnyTool) {
  Client client(file_);
  client.Insert("42", R"({"step":"paid","sum":12.5})");
  EXPECT_EQ(RawDatabase(file_).Text("SELECT json_extract(body, '$.step') FROM doclock_c_things "
                                    "WHERE key='42'"),
            "paid");
}

TEST_F(SqliteGuest, DocumentsMayBePutInByHand) {
  Client client(file_);
  RawDatabase(file_).Run("INSERT INTO doclock_c_things(key, body) VALUES('hand', '{\"a\":1}')");
  const ReadOp read = client.Read("hand");
  ASSERT_EQ(read.status, OpStatus::kDone) << Why(read);
  EXPECT_EQ(read.result.version, 0);
  const AcquireOp held = client.Acquire("hand");
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_EQ(held.result.version, 1);
  EXPECT_FALSE(held.result.born.is_nil());
  EXPECT_EQ(held.result.body.json().at("a"), 1);
  EXPECT_EQ(client.Release("hand", held).status, OpStatus::kDone);
  EXPECT_EQ(client.Acquire("hand").result.born, held.result.born);
}

/// Deeper than SQLite itself reads JSON, and than any recursion could follow.
TEST_F(SqliteGuest, ABodyNestedTooDeepIsRefusedAndDoesNotAffectOthers) {
  constexpr std::size_t kLevels = 100'000;
  const LockingRepository<nlohmann::json> things(LockManager(OpenSqliteStore(file_)), "things");
  things.Insert("good", {{"a", 1}});
  RawDatabase(file_).Run("INSERT INTO doclock_c_things(key, body) VALUES('bad', '{\"a\":" +
                         std::string(kLevels, '[') + std::string(kLevels, ']') + "}')");
  for (const bool indexed : {false, true}) {
    if (indexed) things.EnsureIndex({"a"});
    EXPECT_THROW((void)things.Find("bad"), DocumentException);
    EXPECT_THROW((void)things.Lock("bad"), DocumentException);
    EXPECT_THROW(things.Update("bad", [](nlohmann::json&) {}), DocumentException);
    EXPECT_THROW((void)things.Find(Filter()), DocumentException);
    EXPECT_EQ(things.Find(Filter().Equal("a", 1)).size(), 1U);
    EXPECT_EQ(things.LockNext(Filter().AtLeast("a", 0).OrderBy("a")).key(), Key("good"));
    EXPECT_EQ((*things.Lock("good", {.wait = 10s}))["a"], 1);
  }
  EXPECT_TRUE(things.Erase("bad"));
  EXPECT_EQ(things.Find(Filter()).size(), 1U);
}

TEST_F(SqliteGuest, VacuumMovesNoLock) {
  Client client(file_);
  for (int i = 0; i < 50; ++i) client.Insert(i);
  std::vector<AcquireOp> held;
  for (int i = 40; i < 50; ++i) held.push_back(client.Acquire(i));
  for (int i = 40; i < 50; ++i) {
    client.Renew(i, held[static_cast<std::size_t>(i - 40)].request.grant.lock_id);
  }
  RawDatabase own(file_);
  own.Run("DELETE FROM doclock_c_things WHERE key < 40; VACUUM");
  for (int i = 40; i < 50; ++i) {
    const AcquireOp& lock = held[static_cast<std::size_t>(i - 40)];
    EXPECT_EQ(client.Renew(i, lock.request.grant.lock_id).status, OpStatus::kDone);
    EXPECT_EQ(client.Release(i, lock).status, OpStatus::kDone);
  }
}

/// POSIX locks are lost when any descriptor of the file is closed in the process; the store keeps
/// its own hands off these files, so SQLite's locks stay.
TEST_F(SqliteGuest, ClosingAStrayDescriptorNeverDropsSqlitesLocks) {
  Client client(file_);
  client.Insert("1");
  // The files that the store itself opens and closes while it works ...
  std::unique_ptr<Subscription> watch = client.store().Watch(client.collection(), [](auto) {});
  { Client another(file_); }
  watch.reset();
  // ... leaves a transaction of ours alone: another process cannot get in between.
  RawDatabase own(file_);
  own.Run("BEGIN IMMEDIATE; INSERT INTO doclock_meta VALUES('stray', 1)");
  { Client another(file_, {.busy_timeout = 100ms}); }
  Child other({"open", file_.string()});
  EXPECT_EQ(other.Line(), "open");
  Child intruder({"begin", file_.string()});
  EXPECT_EQ(intruder.Line(), "busy");
  Child writer({"hold", file_.string(), "1", "30000", "bound"});
  EXPECT_EQ(own.Number("SELECT lock_version FROM doclock_l_things"), 1);
  own.Run("COMMIT");
  EXPECT_EQ(writer.Line(), "held 2");
  EXPECT_EQ(own.Number("SELECT count(*) FROM doclock_meta WHERE name='stray'"), 1);
  EXPECT_EQ(own.Text("PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteGuest, CollectionsThatDifferInCaseAreDifferent) {
  const auto store = OpenSqliteStore(file_);
  Client upper(store, "Orders"), lower(store, "orders"), mixed(store, "oRDERS");
  upper.Insert("1", R"({"in":"Orders"})");
  lower.Insert("1", R"({"in":"orders"})");
  EXPECT_EQ(upper.Read("1").result.body.json().at("in"), "Orders");
  EXPECT_EQ(lower.Read("1").result.body.json().at("in"), "orders");
  EXPECT_EQ(mixed.Read("1").status, OpStatus::kMissing);
  Client again(OpenSqliteStore(file_), "Orders");
  EXPECT_EQ(again.Read("1").result.body.json().at("in"), "Orders");
}

}  // namespace
}  // namespace doclock::sqlite_test
