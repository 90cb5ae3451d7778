#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;

class SharedTest : public CliTest {
 protected:
  /// A command that says by a file of this name that it is there, and stays until `go` is.
  std::vector<std::string> Staying(const std::string& name) {
    return {"sh", "-c",
            "echo > '" + (folder / name) + "'; while ! [ -e '" + (folder / "go") +
                "' ]; do sleep 0.01; done"};
  }
  std::unique_ptr<Program> Share(const std::string& name, const std::string& limit = "2") {
    return std::make_unique<Program>(
        Run({"--shared", limit, "--owner", name, "job"}, Staying(name)),
        std::vector<std::string>{store});
  }
  bool IsThere(const std::string& name) {
    return Eventually([&] { return std::filesystem::exists(folder / name); });
  }
  void Go() { std::ofstream(folder / "go").put('x'); }
};

TEST_F(SharedTest, SoManyRunAtOnceAndNoMore) {
  const auto first = Share("first");
  const auto second = Share("second");
  ASSERT_TRUE(IsThere("first") && IsThere("second"));
  EXPECT_EQ(Doclock({"run", "--shared", "2", "job", "--", "true"}).code, 75);
  EXPECT_EQ(Doclock({"run", "--shared", "3", "job", "--", "true"}).code, 0);
  EXPECT_EQ(Doclock({"run", "job", "--", "true"}).code, 75);
  Go();
  EXPECT_EQ(first->Wait().code, 0);
  EXPECT_EQ(second->Wait().code, 0);
  EXPECT_FALSE(IsHeld("job"));
  EXPECT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
}

TEST_F(SharedTest, OneWhoWaitsComesInWhenAPlaceIsFree) {
  const auto first = Share("first", "1");
  ASSERT_TRUE(IsThere("first"));
  Program second(Run({"--shared", "1", "--wait", "1m", "job"}, {"true"}), {store});
  Go();
  EXPECT_EQ(second.Wait().code, 0);
  EXPECT_EQ(first->Wait().code, 0);
}

TEST_F(SharedTest, TheShareOfAKilledProcessIsFreeAtOnce) {
  const auto first = Share("first", "1");
  ASSERT_TRUE(IsThere("first"));
  first->Signal(SIGKILL);
  first->Wait();
  EXPECT_EQ(Doclock({"run", "--wait", "10s", "job", "--", "true"}).code, 0);
}

TEST_F(SharedTest, StatusShowsEachShare) {
  const auto first = Share("first");
  const auto second = Share("second");
  ASSERT_TRUE(IsThere("first") && IsThere("second"));
  const auto locks = nlohmann::json::parse(Doclock({"status", "--json"}).out);
  ASSERT_EQ(locks.size(), 2U);
  for (const auto& lock : locks) {
    EXPECT_EQ(lock.at("name"), "job");
    EXPECT_EQ(lock.at("mode"), "shared");
  }
  EXPECT_NE(locks[0].at("owner"), locks[1].at("owner"));
  EXPECT_THAT(Doclock({"status"}).out, HasSubstr("shared"));
  Go();
}

TEST_F(SharedTest, BreakEndsAllShares) {
  const auto first = Share("first");
  const auto second = Share("second");
  ASSERT_TRUE(IsThere("first") && IsThere("second"));
  EXPECT_THAT(Doclock({"break", "job"}).out, HasSubstr("broken job"));
  EXPECT_FALSE(IsHeld("job"));
  Go();
  EXPECT_EQ(first->Wait().code, 76);
  EXPECT_EQ(second->Wait().code, 76);
}

TEST_F(SharedTest, ABadNumberIsRefused) {
  for (const char* number : {"0", "-1", "1001", "many", ""}) {
    const Ended refused = Doclock({"run", "--shared", number, "job", "--", "true"});
    EXPECT_EQ(refused.code, 64) << number;
    EXPECT_THAT(refused.err, HasSubstr("--shared"));
  }
}

}  // namespace
}  // namespace doclock::cli_test
