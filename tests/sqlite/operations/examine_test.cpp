// What `doclock doctor` is told of a file.

#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {
namespace {

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
