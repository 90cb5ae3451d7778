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
        "work", "status", "top", "renew", "release", "purge", "break", "doctor"}) {
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
