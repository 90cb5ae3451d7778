#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"

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
  bool Told(const std::string& event) {
    return Eventually([&] {
      return TextOf(folder / "events").find("\"event\":\"" + event + "\"") != std::string::npos;
    });
  }
};

TEST_F(EventsTest, TellWhoIsGrantedALockAndThatItIsReleased) {
  Program first(Run({"--owner", "me", "held"}, Staying()), {store});
  ASSERT_TRUE(IsThere());
  Program events(Following(), {store});
  EXPECT_TRUE(Told("held"));
  std::ofstream(folder / "go").put('x');
  EXPECT_TRUE(Told("released"));
  std::filesystem::remove(folder / "go");
  std::filesystem::remove(folder / "here");
  Program second(Run({"--owner", "you", "job"}, Staying()), {store});
  ASSERT_TRUE(IsThere());
  EXPECT_TRUE(Told("granted"));
  EXPECT_EQ(Doclock({"break", "--by", "admin", "job"}).code, 0);
  EXPECT_TRUE(Told("broken"));
  EXPECT_THAT(TextOf(folder / "events"), HasSubstr("\"by\":\"admin\""));
  EXPECT_THAT(TextOf(folder / "events"), HasSubstr("\"owner\":\"you\""));
  events.Signal(SIGINT);
  EXPECT_EQ(events.Wait().code, 128 + SIGINT);
}

TEST_F(EventsTest, FollowWaitsForACollectionThatIsMissing) {
  std::vector<std::string> command = Following();
  command.back() += " -c later 2> '" + (folder / "said") + "'";
  Program events(command, {store});
  EXPECT_TRUE(Eventually([&] {
    return TextOf(folder / "said").find("has no collection later; waiting for it") !=
           std::string::npos;
  }));
  Program holder(Run({"-c", "later", "--owner", "late", "job"}, Staying()), {store});
  ASSERT_TRUE(IsThere());
  EXPECT_TRUE(Eventually(
      [&] { return TextOf(folder / "events").find("\"owner\":\"late\"") != std::string::npos; }));
  EXPECT_EQ(Doclock({"events", "-c", "never"}).code, 66);
}

TEST_F(EventsTest, WithoutFollowTheHeldLocksAreShownOnce) {
  Program first(Run({"--owner", "me", "job"}, Staying()), {store});
  ASSERT_TRUE(IsThere());
  const Ended once = Doclock({"events"});
  EXPECT_EQ(once.code, 0);
  EXPECT_THAT(once.out, HasSubstr(" held job, holder me ("));
  EXPECT_EQ(Doclock({"events", "--prefix", "other"}).out, "");
}

}  // namespace
}  // namespace doclock::cli_test
