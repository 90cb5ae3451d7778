// A foreign program that keeps the file locked is an outage, not a busy lock.

#include <gmock/gmock.h>

#include <future>

#include "doclock/locking_repository.h"
#include "sqlite/support/count.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

using namespace std::chrono_literals;

TEST(SqliteOutage, AForeignWriterIsNotTakenForALock) {
  const TempFolder folder;
  const auto file = folder.path() / "a.db";
  LockManager manager(OpenSqliteStore(file, {.sync = SqliteSync::kNormal}), {.call_budget = 300ms});
  const Counters counters(manager, "counters", {.update_retries = 0, .update_wait = 500ms});
  counters.Insert("a", {{"count", 0}});
  RawDatabase foreign(file);
  foreign.Run("BEGIN IMMEDIATE");
  const LockOptions options{.wait = 500ms};
  const std::vector<std::function<void()>> waits{
      [&] { (void)counters.TryLock("a", options); },
      [&] { (void)counters.TryLockAsync("a", options).get(); },
      [&] { (void)counters.TryLockNext({}, options); },
      [&] { (void)counters.LockAll({"a"}, options); },
      [&] { counters.Update("a", Increment); },
  };
  for (std::size_t i = 0; i < waits.size(); ++i) {
    SCOPED_TRACE(i);
    try {
      waits[i]();
      ADD_FAILURE() << "it was granted, or told as busy";
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kUnavailable) << error.what();
    }
  }
  foreign.Run("ROLLBACK");
  EXPECT_TRUE(counters.TryLock("a", {.wait = 1min}));
}

/// Does it come although the writer goes on?
template <class T>
bool Comes(const std::future<T>& future) {
  return future.wait_for(5min) == std::future_status::ready;
}

TEST(SqliteOutage, ReadsGoOnBesideWritesThatWaitForAForeignWriter) {
  const TempFolder folder;
  const auto file = folder.path() / "a.db";
  const SqliteStoreOptions patient{.sync = SqliteSync::kNormal, .busy_timeout = 1min};
  LockManager manager(OpenSqliteStore(file, patient), {.call_budget = 5min});
  const Counters counters(manager, "counters");
  counters.Insert("a", {{"count", 7}});
  counters.Insert("c", {{"count", 8}});
  RawDatabase foreign(file);
  foreign.Run("BEGIN IMMEDIATE");
  // These have the lane of writes, and the worker of searches, once the calls return.
  auto lock = counters.TryLockAsync("a", LockOptions{.wait = 5min});
  auto other =
      counters.TryLockAsync({"b", nlohmann::json{{"count", 0}}}, LockOptions{.wait = 5min});
  auto next = counters.TryLockNextAsync(Filter{}.Equal("count", 8), LockOptions{.wait = 5min});

  auto blocking = std::async(std::launch::async, [&] { return counters.Find("a"); });
  auto asynchronous = counters.FindAsync("a");
  auto many = counters.FindAsync(Filter{}.Equal("count", 7));
  EXPECT_TRUE(Comes(blocking));
  EXPECT_TRUE(Comes(asynchronous));
  EXPECT_TRUE(Comes(many));
  EXPECT_EQ(lock.wait_for(0s), std::future_status::timeout);
  foreign.Run("ROLLBACK");

  EXPECT_EQ((**blocking.get())["count"], 7);
  EXPECT_EQ((**asynchronous.get())["count"], 7);
  EXPECT_EQ(many.get().size(), 1U);
  EXPECT_TRUE(lock.get());
  EXPECT_TRUE(other.get());
  EXPECT_TRUE(next.get());
}

}  // namespace
}  // namespace doclock::sqlite_test
