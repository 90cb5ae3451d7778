// What `doclock doctor` is told of a file.

#include <gtest/gtest.h>

#include <algorithm>

#include "doclock/testing/manual_clock.h"
#include "sqlite/support/client.h"
#include "sqlite/support/raw_database.h"
#include "sqlite/support/temp_folder.h"

namespace doclock::sqlite_test {
namespace {

TEST(SqliteExamine, CountsTheIntentsThatAreOver) {
  const TempFolder folder;
  const auto clock = std::make_shared<testing::ManualClock>();
  Client client(folder / "things.db", {.sync = SqliteSync::kOff, .clock = clock});
  for (const char* key : {"over", "over too", "malformed", "live"}) {
    client.Share(key, kMaxHolders, 1h);
    client.Want(key, NewUuid(), key == std::string("live") ? 1h : 5s);
  }
  RawDatabase(folder / "things.db").Run("UPDATE doclock_i_things SET ttl='long' WHERE doc=3");
  clock->Advance(10s);
  const auto findings = client.store().Examine(&client.collection(), kBudget);
  const auto intents = std::find_if(findings.begin(), findings.end(),
                                    [](const Finding& found) { return found.check == "intents"; });
  ASSERT_NE(intents, findings.end());
  EXPECT_TRUE(intents->text.starts_with("2 waiting writers")) << intents->text;
}

TEST(SqliteExamine, FindsNothingWrongWithAFileInUse) {
  const TempFolder folder;
  const Client client(folder / "things.db");
  for (const Finding& found : client.store().Examine(nullptr, kBudget)) {
    if (found.check == "disk") continue;
    EXPECT_EQ(found.level, FindingLevel::kOk) << found.text;
  }
}

}  // namespace
}  // namespace doclock::sqlite_test
