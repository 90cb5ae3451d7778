#include <fstream>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;

/// What editors leave behind.
class EditTest : public CliTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::create_directory(folder / "tmp"));
    ASSERT_EQ(Doclock({"put", "sagas", "1"}, R"({"n":1})").code, 0);
  }
  /// `edit` with an editor that does this to the file $1.
  Ended Edit(const std::string& script) {
    std::ofstream(folder / "editor") << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(folder / "editor", std::filesystem::perms::owner_all);
    return With({"--editor", "'" + (folder / "editor") + "'"}, {});
  }
  Ended With(std::vector<std::string> options, std::vector<std::string> environment) {
    options.insert(options.begin(), "edit");
    options.insert(options.end(), {"sagas", "1"});
    environment.insert(environment.begin(), {store, "TMPDIR=" + (folder / "tmp")});
    return Program(Command(options), environment).Wait();
  }
  std::string Stored() { return Doclock({"get", "--json", "sagas", "1"}).out; }
  bool IsClean() { return std::filesystem::is_empty(folder / "tmp"); }
  /// The folder that the message names has this text in this file.
  static void ExpectKept(const Ended& ended, const std::string& text,
                         const std::string& name = "/document.json") {
    const auto where = ended.err.find("your text is kept in ");
    ASSERT_NE(where, std::string::npos) << ended.err;
    const std::string path = ended.err.substr(where + 21, ended.err.find('\n', where) - where - 21);
    EXPECT_EQ(TextOf(path + name), text);
  }
};

TEST_F(EditTest, TheFileMayBeReplaced) {
  EXPECT_EQ(Edit(R"(echo '{"n":2}' > "$1.new"; mv "$1.new" "$1")").code, 0);
  EXPECT_EQ(Stored(), "{\"n\":2}\n");
  EXPECT_EQ(Edit(R"(cp "$1" "$1~"; printf '\357\273\277{"n":3}\r\n' > "$1")").code, 0);
  EXPECT_EQ(Stored(), "{\"n\":3}\n");
  EXPECT_TRUE(IsClean());
}

TEST_F(EditTest, AnEmptyFileChangesNothing) {
  for (const char* script : {": > \"$1\"", "echo > \"$1\""}) {
    const Ended ended = Edit(script);
    EXPECT_EQ(ended.code, 65);
    EXPECT_THAT(ended.err, HasSubstr("the edited file is empty; nothing was changed\n"));
  }
  EXPECT_EQ(Stored(), "{\"n\":1}\n");
}

TEST_F(EditTest, WhatIsNoFileAnyMoreChangesNothing) {
  for (const char* script :
       {"rm \"$1\"", "rm \"$1\"; mkdir \"$1\"", "rm \"$1\"; mkfifo \"$1\"",
        "rm \"$1\"; ln -s /dev/zero \"$1\"", "rm \"$1\"; ln -s nowhere \"$1\""}) {
    const Ended ended = Edit(script);
    EXPECT_EQ(ended.code, 74) << script;
    EXPECT_THAT(ended.err, HasSubstr("cannot read the edited file")) << script;
  }
  EXPECT_EQ(Stored(), "{\"n\":1}\n");
  EXPECT_EQ(Doclock({"put", "sagas", "1"}, "{}").code, 0) << "it is unlocked";
}

TEST_F(EditTest, AnEditorThatFailsIsToldAndItsTextIsKept) {
  const Ended code = Edit("echo mine > \"$1\"; exit 3");
  EXPECT_EQ(code.code, 65);
  EXPECT_THAT(code.err, HasSubstr("the editor ended with exit code 3; nothing was changed"));
  ExpectKept(code, "mine\n");
  const Ended other = Edit("rm \"$1\"; echo mine > \"$(dirname \"$1\")/other\"; exit 1");
  EXPECT_EQ(other.code, 65);
  ExpectKept(other, "mine\n", "/other");
  const Ended killed = Edit("echo mine > \"$1\"; kill -9 $$");
  EXPECT_EQ(killed.code, 65);
  ExpectKept(killed, "mine\n");
  const Ended none = With({}, {"VISUAL=no-such-editor-anywhere", "EDITOR=true"});
  EXPECT_EQ(none.code, 65);
  EXPECT_THAT(none.err, HasSubstr("the editor ended with exit code 127"));
  EXPECT_EQ(Stored(), "{\"n\":1}\n");
}

TEST_F(EditTest, TheEditorMayHaveArguments) {
  EXPECT_EQ(With({}, {"VISUAL=", "EDITOR=sed -i 's/1/2/'"}).code, 0);
  EXPECT_EQ(Stored(), "{\"n\":2}\n");
  EXPECT_EQ(With({}, {"VISUAL=sed -i s/2/3/", "EDITOR=false"}).code, 0);
  EXPECT_EQ(Stored(), "{\"n\":3}\n");
}

TEST_F(EditTest, AFolderThatTakesNoFileIsNamed) {
  for (const std::string& odd : {folder / "none", std::string("/dev/null")}) {
    const Ended ended = With({"--editor", "true"}, {"TMPDIR=" + odd});
    EXPECT_EQ(ended.code, 74) << odd;
    EXPECT_THAT(ended.err, HasSubstr("cannot create a folder in " + odd + " (TMPDIR): "));
  }
  const Ended full = Program({"unshare", "-Urm", "sh", "-c",
                              "mount -t tmpfs -o size=4k none '" + (folder / "tmp") +
                                  "' || exit 9; head -c 4096 /dev/zero > '" + (folder / "tmp") +
                                  "/full'; exec " + DOCLOCK_CLI + " edit --editor true sagas 1"},
                             {store, "TMPDIR=" + (folder / "tmp")})
                         .Wait();
  if (full.code == 9 || full.err.find("unshare") != std::string::npos) {
    GTEST_SKIP() << "no user namespaces here";
  }
  EXPECT_EQ(full.code, 74) << full.err;
  EXPECT_THAT(full.err, HasSubstr("(TMPDIR): No space left on device"));
  EXPECT_EQ(Doclock({"put", "sagas", "1"}, "{}").code, 0) << "it is unlocked";
}

}  // namespace
}  // namespace doclock::cli_test
