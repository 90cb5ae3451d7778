#include "cli/harness.h"
#include "cli/terminal/on_screen.h"

namespace doclock::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class TopTest : public CliTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
    const Ended linked = Program({"sh", "-c", "ldd '" DOCLOCK_CLI "' | grep -q ncurses"}).Wait();
    if (linked.code != 0) GTEST_SKIP() << "this build has no ncurses";
  }
  std::vector<std::string> Terminal() { return {store, "TERM=xterm-256color"}; }
  bool StatusShows(const std::string& text) {
    return Eventually([&] { return Doclock({"status"}).out.find(text) != std::string::npos; });
  }
  std::vector<std::string> Top() {
    return Command({"top", "--interval", "100ms", "--sort", "name"});
  }
};

TEST_F(TopTest, ShowsHoldersAndFollowsThemUntilQ) {
  Holding held(*this, {"--owner", "me", "nightly"});
  OnScreen top(Top(), Terminal());
  EXPECT_TRUE(top.Shows("q quit"));
  EXPECT_THAT(top.printed(), AllOf(HasSubstr("doclock top: doclock_locks"), HasSubstr("1 held"),
                                   HasSubstr("nightly"), HasSubstr("me (")));
  Program other(Run({"--owner", "you", "weekly"}, {"sleep", "1000"}), {store});
  EXPECT_TRUE(top.Shows("weekly")) << "it looks again";
  top.Type("q");
  EXPECT_EQ(top.End(), 0);
  EXPECT_TRUE(top.IsRestored());
}

TEST_F(TopTest, SortsByTheNextColumn) {
  Holding held(*this, {"--owner", "me", "nightly"});
  OnScreen top(Top(), Terminal());
  EXPECT_TRUE(top.Shows("by name"));
  top.Type("s");
  EXPECT_TRUE(top.Shows("holder"));
  top.Type("q");
  EXPECT_EQ(top.End(), 0);
}

TEST_F(TopTest, ShowsHowManyWaitAndSortsByThem) {
  Program idle(Run({"a-idle"}, {"sleep", "1000"}), {store});
  ASSERT_TRUE(StatusShows("a-idle"));
  Holding held(*this, {"job"});
  Program waiter(Run({"--wait", "1m", "job"}, {"true"}), {store});
  ASSERT_TRUE(StatusShows("job: processes that wait: 1"));
  OnScreen top(Command({"top", "--interval", "100ms", "--sort", "wait"}), Terminal());
  ASSERT_TRUE(top.Shows("q quit"));
  const std::string& screen = top.printed();
  EXPECT_THAT(screen, AllOf(HasSubstr("WAIT"), HasSubstr("by wait")));
  ASSERT_THAT(screen, AllOf(HasSubstr("job"), HasSubstr("a-idle")));
  const std::size_t first = screen.find("job"), second = screen.find("a-idle");
  ASSERT_LT(first, second) << "the other one is older, and before it by name";
  // The terminal library skips blanks by moving the cursor.
  EXPECT_THAT(screen.substr(first, second - first),
              ContainsRegex("[ CGH]1( |\x1b\\[[0-9]*C)+exclusive"));
  EXPECT_THAT(screen.substr(second), ContainsRegex("[ CGH]-( |\x1b\\[[0-9]*C)+exclusive"));
  top.Type("q");
  EXPECT_EQ(top.End(), 0);
}

TEST_F(TopTest, LeavesTheTerminalAsItWas) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    OnScreen top(Top(), Terminal());
    ASSERT_TRUE(top.Shows("q quit"));
    top.Signal(signal);
    EXPECT_EQ(top.End(), 128 + signal);
    EXPECT_TRUE(top.IsRestored());
  }
  OnScreen interrupted(Top(), Terminal());
  ASSERT_TRUE(interrupted.Shows("q quit"));
  interrupted.Type("\x03");
  EXPECT_EQ(interrupted.End(), 128 + SIGINT);
  EXPECT_TRUE(interrupted.IsRestored());
}

TEST_F(TopTest, SaysWhatCannotBeShown) {
  const Ended piped = Doclock({"top"});
  EXPECT_EQ(piped.code, 64);
  EXPECT_THAT(piped.err, AllOf(HasSubstr("needs a terminal"), HasSubstr("status")));
  EXPECT_EQ(Doclock({"top", "--json"}).code, 64);
  EXPECT_THAT(Doclock({"top", "--sort", "size"}).err, HasSubstr("--sort"));
  OnScreen unknown(Top(), {store, "TERM=no-such-terminal"});
  EXPECT_EQ(unknown.End(), 64);
  EXPECT_THAT(unknown.printed(), HasSubstr("$TERM"));
  OnScreen missing(Command({"--store", "sqlite:/no/such/file.db", "top"}), Terminal());
  EXPECT_EQ(missing.End(), 69);
  EXPECT_THAT(missing.printed(), Not(HasSubstr("\x1b[?1049h")));
}

}  // namespace
}  // namespace doclock::cli_test
