#include <cstdlib>
#include <filesystem>

#include "cli/harness.h"
#include "cli/terminal/on_screen.h"

namespace doclock::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The completions of zsh and fish, in the shells themselves. PackagingTest has those of bash.
class CompletionTest : public CliTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Doclock({"put", "sagas", "order-42"}, "{}").code, 0);
    ASSERT_EQ(Doclock({"run", "nightly", "--", "true"}).code, 0);
  }
  static bool Has(const std::string& shell) {
    return Program({"sh", "-c", "command -v " + shell}).Wait().code == 0;
  }
  /// The shells ask the command that was built.
  [[nodiscard]] static std::string Path() {
    const char* const path = std::getenv("PATH");
    const std::string folder = std::filesystem::path(DOCLOCK_CLI).parent_path();
    return "PATH=" + folder + ":" + (path != nullptr ? path : "");
  }
  /// What fish offers for a line, one per line of output.
  std::string Fish(const std::string& line) {
    const Ended ended =
        Program({"fish", "--no-config", "-c",
                 "source " DOCLOCK_PACKAGING "/doclock.fish; complete -C $argv[1]", line},
                {store, Path(), "HOME=" + (folder / ".")})
            .Wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }
  /// The arguments that zsh makes of these keys, of which \t completes. They begin with "doclock ".
  std::string Zsh(const std::string& keys) {
    // A function of the same name shows what would be called.
    const std::string setup =
        "PS1='ready> '; fpath=(" DOCLOCK_PACKAGING
        " $fpath); autoload -Uz compinit; compinit -u -D; doclock() { print -r -- \"ARGS<$*>\" }";
    OnScreen shell({"zsh", "-f", "-i"}, {store, Path(), "TERM=xterm", "HOME=" + (folder / ".")});
    shell.Type(setup + "\r");
    EXPECT_TRUE(shell.Shows("ready> "));
    shell.Type("print set''up\r");
    EXPECT_TRUE(shell.Shows("setup"));
    shell.Type(keys + "\r");
    EXPECT_TRUE(shell.Shows(">\r\n")) << shell.printed();
    const std::string printed = shell.printed();
    const auto begin = printed.rfind("ARGS<");
    if (begin == printed.npos) return printed;
    return printed.substr(begin + 5, printed.find(">\r\n", begin) - begin - 5);
  }
};

TEST_F(CompletionTest, FishOffersCommandsOptionsAndNamesOfTheStore) {
  if (!Has("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_THAT(Fish("doclock re"), AllOf(HasSubstr("renew\t"), HasSubstr("release\t")));
  EXPECT_THAT(Fish("doclock release --"),
              AllOf(HasSubstr("--lock-file\t"), HasSubstr("--json\t"), Not(HasSubstr("--ttl"))));
  EXPECT_EQ(Fish("doclock get --key-type u"), "uuid\tType of the key\n");
  EXPECT_EQ(Fish("doclock top --sort l"), "left\tOrder\n");
  EXPECT_EQ(Fish("doclock get sa"), "sagas\n");
  EXPECT_EQ(Fish("doclock get sagas or"), "order-42\n");
  EXPECT_EQ(Fish("doclock break ni"), "nightly\n");
}

TEST_F(CompletionTest, ZshCompletesCommandsOptionsAndNamesOfTheStore) {
  if (!Has("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(Zsh("doclock rel\t"), "release");
  EXPECT_EQ(Zsh("doclock release --lock\t"), "release --lock-file");
  EXPECT_EQ(Zsh("doclock get --key-type u\t"), "get --key-type uuid");
  EXPECT_EQ(Zsh("doclock top --sort l\t"), "top --sort left");
  EXPECT_EQ(Zsh("doclock get sa\tor\t"), "get sagas order-42");
  EXPECT_EQ(Zsh("doclock break ni\t"), "break nightly");
}

}  // namespace
}  // namespace doclock::cli_test
