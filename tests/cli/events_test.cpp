#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/harness.h"
#include "doclock/doclock.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class EventsTest : public CliTest {
 protected:
  void SetUp() override { ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0); }
  std::vector<std::string> Following() {
    const std::string command = "exec " + std::string(DOCLOCK_CLI) +
                                " events --follow --interval 100ms --json > '" +
                                (folder / "events") + "'";
    return {"sh", "-c", command};
  }
  std::size_t Count(const std::string& event) {
    const std::string text = TextOf(folder / "events"), word = "\"event\":\"" + event + "\"";
    std::size_t count = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
    return count;
  }
  bool Told(const std::string& event, std::size_t times = 1) {
    return Eventually([&] { return Count(event) >= times; });
  }
  /// The locks of another program with one holder.
  LockProvider Locks() {
    return LockProvider(LockManager(OpenStore("sqlite:" + (folder / "locks.db")), {.owner = "me"}));
  }
};

TEST_F(EventsTest, TellWhoIsGrantedALockAndThatItIsReleased) {
  Holding first(*this, {"--owner", "me", "held"});
  Program events(Following(), {store});
  EXPECT_TRUE(Told("held"));
  std::ofstream(folder / "go").put('x');
  EXPECT_TRUE(Told("released"));
  std::filesystem::remove(folder / "go");
  std::filesystem::remove(folder / "here");
  Holding second(*this, {"--owner", "you", "job"});
  EXPECT_TRUE(Told("granted"));
  EXPECT_EQ(Doclock({"break", "--by", "admin", "job"}).code, 0);
  EXPECT_TRUE(Told("broken"));
  EXPECT_THAT(TextOf(folder / "events"), HasSubstr("\"by\":\"admin\""));
  EXPECT_THAT(TextOf(folder / "events"), HasSubstr("\"owner\":\"you\""));
  events.Signal(SIGINT);
  EXPECT_EQ(events.Wait().code, 128 + SIGINT);
}

/// The note of the break stays in the document.
TEST_F(EventsTest, ANormalReleaseAfterABreakIsOne) {
  const LockProvider locks = Locks();
  HeldLock broken = locks.Acquire("job");
  Program events(Following(), {store});
  ASSERT_TRUE(Told("held"));
  EXPECT_EQ(locks.Admin().Break("job", "admin").holder.name, "me");
  ASSERT_TRUE(Told("broken"));
  HeldLock next = locks.Acquire("job");
  ASSERT_TRUE(Told("granted"));
  next.Release();
  EXPECT_TRUE(Told("released"));
  EXPECT_EQ(Count("broken"), 1U);
}

TEST_F(EventsTest, SharesOfOneHolderAreToldApart) {
  const LockProvider locks = Locks();
  const LockOptions shared{.mode = LockMode::kShared};
  HeldLock first = locks.Acquire("sem", shared), second = locks.Acquire("sem", shared);
  Program events(Following(), {store});
  ASSERT_TRUE(Told("held", 2));
  const std::string fence = "\"fence\":" + std::to_string(first.fence()) + ",";
  first.Release();
  ASSERT_TRUE(Told("released"));
  HeldLock third = locks.Acquire("sem", shared);
  ASSERT_TRUE(Told("granted"));
  locks.Admin().Break("sem", "admin");
  ASSERT_TRUE(Told("broken", 2)) << "both";
  EXPECT_EQ(Count("released"), 1U);
  EXPECT_EQ(Count("granted"), 1U);
  std::istringstream lines(TextOf(folder / "events"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"released\"") != line.npos) {
      EXPECT_THAT(line, HasSubstr(fence));
    }
  }
}

TEST_F(EventsTest, FollowGoesOnBehindABodyThatCannotBeRead) {
  const LockProvider locks = Locks();
  HeldLock held = locks.Acquire("job");
  Program events(Following(), {store});
  ASSERT_TRUE(Told("held"));
  sqlite_test::RawDatabase(folder / "locks.db")
      .Run("UPDATE doclock_c_doclock_locks SET body='{oops' WHERE key='job'");
  held.Release();
  EXPECT_TRUE(Eventually([&] { return events.IsOver() || Count("released") == 1; }));
  EXPECT_FALSE(events.IsOver());
}

TEST_F(EventsTest, FollowWaitsForACollectionThatIsMissing) {
  std::vector<std::string> command = Following();
  command.back() += " -c later 2> '" + (folder / "said") + "'";
  Program events(command, {store});
  EXPECT_TRUE(Eventually([&] {
    return TextOf(folder / "said").find("has no collection later; waiting for it") !=
           std::string::npos;
  }));
  Holding holder(*this, {"-c", "later", "--owner", "late", "job"});
  EXPECT_TRUE(Eventually(
      [&] { return TextOf(folder / "events").find("\"owner\":\"late\"") != std::string::npos; }));
  EXPECT_EQ(Doclock({"events", "-c", "never"}).code, 66);
}

TEST_F(EventsTest, WithoutFollowTheHeldLocksAreShownOnce) {
  Holding first(*this, {"--owner", "me", "job"});
  const Ended once = Doclock({"events"});
  EXPECT_EQ(once.code, 0);
  EXPECT_THAT(once.out, HasSubstr(" held job, holder me ("));
  EXPECT_EQ(Doclock({"events", "--prefix", "other"}).out, "");
}

}  // namespace
}  // namespace doclock::cli_test
