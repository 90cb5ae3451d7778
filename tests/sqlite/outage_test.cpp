// A foreign program that keeps the file locked is an outage, not a busy lock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "doclock/locking_repository.h"
#include "sqlite/count.h"
#include "sqlite/raw_database.h"
#include "sqlite/temp_folder.h"

namespace doclock::sqlite_test {
namespace {

using namespace std::chrono_literals;

TEST(SqliteOutage, AForeignWriterIsNotTakenForALock) {
  const TempFolder folder;
  const auto file = folder.path() / "a.db";
  LockManager manager(OpenSqliteStore(file, {.sync = SqliteSync::kOff}), {.call_budget = 300ms});
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

}  // namespace
}  // namespace doclock::sqlite_test
