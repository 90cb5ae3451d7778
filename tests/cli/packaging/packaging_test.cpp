#include <cctype>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// The files that are installed beside the command.
class PackagingTest : public CliTest {
 protected:
  /// The completions that bash offers for a line with the cursor on its last word, one per line.
  static std::string Completed(std::vector<std::string> words) {
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
    const Ended ended = Program(command).Wait();
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }
  /// The words of a text that begin with `begin`.
  static std::vector<std::string> WordsLike(const std::string& text, const std::string& begin) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text + " ") {
      const bool inside = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
      if (inside) {
        word += c;
        continue;
      }
      if (word.starts_with(begin) && word.size() > begin.size()) words.push_back(word);
      word.clear();
    }
    return words;
  }
};

TEST_F(PackagingTest, CompletionOffersTheCommands) {
  EXPECT_EQ(Completed({"ru"}), "run\n");
  EXPECT_EQ(Completed({"re"}), "renew\nrelease\n");
  EXPECT_EQ(
      Completed({""}),
      "run\nget\nput\nedit\ndelete\ncollections\nlist\nexport\nimport\noutbox\nwork\nstatus\nevents"
      "\ntop\nrenew\n"
      "release\npurge\nbreak\ndoctor\n");
  EXPECT_THAT(Completed({"--js"}), "--json\n");
}

TEST_F(PackagingTest, CompletionOffersEachCommandItsOwnOptionsAndAllOfThem) {
  EXPECT_EQ(Completed({"run", "--min"}), "--min-hold\n");
  EXPECT_EQ(Completed({"purge", "--f"}), "--forget\n");
  EXPECT_EQ(Completed({"get", "--min"}), "\n");
  for (const char* name :
       {"run", "get", "put", "edit", "delete", "collections", "list", "export", "import", "outbox",
        "status", "events", "top", "renew", "release", "purge", "break", "doctor"}) {
    const std::string offered = Completed({name, "--"});
    for (const std::string& option : WordsLike(Doclock({name, "--help"}).out, "--")) {
      EXPECT_THAT(offered + "--version\n", HasSubstr(option + "\n")) << name;
    }
  }
}

TEST_F(PackagingTest, CompletionKnowsValues) {
  EXPECT_EQ(Completed({"get", "--key-type", "u"}), "uuid\n");
  EXPECT_EQ(Completed({"--store", ""}), "\n") << "a URL cannot be completed";
  EXPECT_THAT(Completed({"run", "job", "--", "tru"}), HasSubstr("true\n"));
  EXPECT_THAT(Completed({"--store-file", DOCLOCK_PACKAGING "/doclock."}),
              HasSubstr("/doclock.bash\n"));
}

TEST_F(PackagingTest, TheManualIsRenderedWithoutAWarning) {
  if (Program({"sh", "-c", "command -v groff"}).Wait().code != 0) GTEST_SKIP() << "no groff here";
  const Ended page =
      Program({"groff", "-t", "-man", "-Tutf8", "-P-cbou", "-ww", DOCLOCK_PACKAGING "/doclock.1"})
          .Wait();
  EXPECT_EQ(page.code, 0);
  EXPECT_THAT(page.err, IsEmpty());
  EXPECT_THAT(page.out, HasSubstr("named locks and locked documents"));
  EXPECT_THAT(page.out, HasSubstr("--expired, --live\n"));
  EXPECT_THAT(page.out, HasSubstr("--watch, --interval TIME\n"));
}

TEST_F(PackagingTest, TheManualHasEveryCommandAndOption) {
  std::string manual = TextOf(DOCLOCK_PACKAGING "/doclock.1");
  std::erase(manual, '\\');
  for (const char* name :
       {"run", "get", "put", "edit", "delete", "collections", "list", "export", "import", "outbox",
        "status", "events", "top", "renew", "release", "purge", "break", "doctor"}) {
    EXPECT_THAT(manual, HasSubstr(name));
    for (const std::string& option : WordsLike(Doclock({name, "--help"}).out, "--")) {
      EXPECT_THAT(manual, HasSubstr(option)) << name;
    }
  }
}

TEST_F(PackagingTest, TheManualHasTheExitCodesOfTheHelp) {
  const std::string manual = TextOf(DOCLOCK_PACKAGING "/doclock.1");
  for (const char* code : {"64|", "65|", "66|", "69|", "70|", "73|", "74|", "75|", "76|", "78|",
                           "126, 127|", "128+N|"}) {
    EXPECT_THAT(manual, HasSubstr(std::string("\n") + code));
  }
}

}  // namespace
}  // namespace doclock::cli_test
