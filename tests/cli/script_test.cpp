#include <fstream>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;

/// Programs that the kernel does not execute by itself, as `run` starts them.
class ScriptTest : public CliTest {
 protected:
  std::string Executable(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    return folder / name;
  }
};

TEST_F(ScriptTest, TheShellRunsAScriptThatNamesNoInterpreter) {
  const std::string script = Executable("script", "echo \"$0|$1|$2|$FENCE\"\nexit 7\n");
  const Ended ended =
      Doclock({"run", "--fence-env", "FENCE", "job", "--", script, "a  b", "$HOME"});
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(ended.out, script + "|a  b|$HOME|1\n");
  const Ended found =
      Program(Run({"job"}, {"script", "x"}), {store, "PATH=" + (folder / ".")}).Wait();
  EXPECT_EQ(found.code, 7);
  EXPECT_THAT(found.out, HasSubstr("/script|x|"));
  EXPECT_EQ(Doclock({"run", "job", "--", Executable("empty", "")}).code, 0);
}

TEST_F(ScriptTest, WhatCannotBeExecutedIsStill126) {
  std::ofstream(folder / "plain") << "echo no\n";
  const Ended plain = Doclock({"run", "job", "--", folder / "plain"});
  EXPECT_EQ(plain.code, 126);
  EXPECT_THAT(plain.err, HasSubstr("Permission denied"));
  EXPECT_EQ(Doclock({"run", "job", "--", folder / "."}).code, 126);
  EXPECT_EQ(Doclock({"run", "job", "--", Executable("lost", "#!/no/such/shell\n")}).code, 127);
}

}  // namespace
}  // namespace doclock::cli_test
