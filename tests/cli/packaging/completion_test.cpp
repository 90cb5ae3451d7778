#include <cstdlib>
#include <filesystem>

#include "cli/harness.h"
#include "cli/terminal/on_screen.h"

namespace doclock::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What the command offers, and what the shells make of it.
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
  /// What the command offers for these words, of which the last is to be completed.
  std::string Offered(std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    const Ended ended = Doclock(std::move(words));
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }
  /// What bash offers for a line with the cursor on its last word, one per line.
  std::string Bash(const std::vector<std::string>& words) {
    std::vector<std::string> command{
        "bash", "--norc", "-c",
        // As bash itself does it: the function that `complete` names, given the line.
        "source \"$1\" || exit 9; shift; "
        "function=$(complete -p doclock | sed 's/.*-F \\([^ ]*\\) .*/\\1/') || exit 8; "
        "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMP_LINE=\"$*\"; COMP_POINT=${#COMP_LINE}; "
        "\"$function\" doclock \"${!#}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; "
        "printf '%s\\n' \"${COMPREPLY[@]}\"",
        "bash", DOCLOCK_PACKAGING "/doclock.bash", "doclock"};
    command.insert(command.end(), words.begin(), words.end());
    const Ended ended = Program(command, {store, Path()}).Wait();
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, "");
    return ended.out;
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

TEST_F(CompletionTest, OffersCommandsAndTheirOptions) {
  EXPECT_EQ(Offered({"re"}),
            "renew\tRenew the leases of a group's locks, or of one lock\n"
            "release\tRelease a group's locks, newest first, or one lock\n");
  EXPECT_EQ(Lines(Offered({""})).size(), 18U);
  EXPECT_THAT(Offered({"--js"}), HasSubstr("--json\tPrint JSON\n"));
  EXPECT_THAT(Offered({"run", "--min"}), HasSubstr("--min-hold\t"));
  EXPECT_EQ(Offered({"get", "--min"}), "");
  EXPECT_THAT(Offered({"release", "--"}), AllOf(HasSubstr("--lock-file\t"), HasSubstr("--json\t"),
                                                HasSubstr("--help\t"), Not(HasSubstr("--ttl"))));
}

TEST_F(CompletionTest, OffersValuesAndWhatTheStoreHas) {
  EXPECT_EQ(Offered({"get", "--key-type", "u"}), "uuid\n");
  EXPECT_EQ(Offered({"top", "--sort", ""}), "age\nname\nholder\nleft\nwait\n");
  EXPECT_EQ(Offered({"--store", ""}), "") << "a URL cannot be completed";
  EXPECT_EQ(Offered({"--store-file", ""}), ":file\n");
  EXPECT_EQ(Offered({"put", "sagas", "order-42", ""}), ":file\n");
  EXPECT_EQ(Offered({"edit", "--editor", ""}), ":command\n");
  EXPECT_EQ(Offered({"run", "--wait", "1s", "job", "--", "tr"}), ":command 6\n");
  EXPECT_EQ(Offered({"get", "sa"}), "sagas\n");
  EXPECT_EQ(Offered({"-c", "sa"}), "sagas\n");
  EXPECT_EQ(Offered({"get", "--full", "sagas", "or"}), "order-42\n");
  EXPECT_EQ(Offered({"list", "--json", "sagas", "--after", ""}), "order-42\n");
  EXPECT_EQ(Offered({"-c", "sagas", "break", ""}), "order-42\n");
  EXPECT_EQ(Offered({"break", "ni"}), "nightly\n");
}

TEST_F(CompletionTest, OffersNothingWhereNothingIsRight) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"frob", ""},
                                             {"get", "sagas", "order-42", ""},
                                             {"list", "--after", ""},
                                             {"--store", "sqlite:/no/such/file.db", "get", ""},
                                             {"--store", "mysql:x", "get", ""},
                                             {"run", "--ttl", "never", ""}}) {
    EXPECT_EQ(Offered(words), "") << ::testing::PrintToString(words);
  }
}

TEST_F(CompletionTest, BashOffersIt) {
  EXPECT_EQ(Bash({"ru"}), "run\n");
  EXPECT_EQ(Bash({"re"}), "renew\nrelease\n");
  EXPECT_EQ(Bash({"get", "sagas", "or"}), "order-42\n");
  EXPECT_THAT(Bash({"run", "job", "--", "tru"}), HasSubstr("true\n"));
  EXPECT_THAT(Bash({"--store-file", DOCLOCK_PACKAGING "/doclock."}), HasSubstr("/doclock.bash\n"));
}

TEST_F(CompletionTest, FishOffersCommandsOptionsAndNamesOfTheStore) {
  if (!Has("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_THAT(Fish("doclock re"), AllOf(HasSubstr("renew\t"), HasSubstr("release\t")));
  EXPECT_THAT(Fish("doclock release --"),
              AllOf(HasSubstr("--lock-file\t"), HasSubstr("--json\t"), Not(HasSubstr("--ttl"))));
  EXPECT_EQ(Fish("doclock get --key-type u"), "uuid\n");
  EXPECT_EQ(Fish("doclock top --sort l"), "left\n");
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
