#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandsTest : public CliTest {
 protected:
  /// `edit` with an editor that writes this and ends so, without a terminal.
  Ended Edited(const std::string& text, int code) {
    const std::string editor = Editor("echo '" + text + "' > \"$1\"; exit " + std::to_string(code));
    return Doclock({"edit", "--editor", editor, "sagas", "42"});
  }
  /// The file that the message names.
  static std::string Kept(const std::string& message) {
    const auto where = message.find("kept in ");
    if (where == message.npos) return "nothing: " + message;
    return TextOf(message.substr(where + 8, message.find('\n', where) - where - 8) +
                  "/document.json");
  }
  /// An editor that does this to the file.
  std::string Editor(const std::string& script) {
    const std::string path = folder / "editor";
    std::ofstream(path) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
};

TEST_F(CommandsTest, PutMakesAndReplacesDocumentsAndGetShowsThem) {
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, R"({"step":"new","n":1})").code, 0);
  EXPECT_EQ(Json({"get", "sagas", "42"}), (json{{"step", "new"}, {"n", 1}}));
  std::ofstream(folder / "body") << R"({"step":"paid"})";
  EXPECT_EQ(Doclock({"put", "sagas", "42", folder / "body"}).code, 0);
  EXPECT_EQ(Json({"get", "sagas", "42"}).at("step"), "paid");
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "42"}).out.find('\n'),
            Doclock({"get", "--json", "sagas", "42"}).out.size() - 1)
      << "one line";
  EXPECT_EQ(Doclock({"get", "sagas", "43"}).code, 66);
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, "{").code, 65);
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, R"({"lockId":1})").code, 65);
  EXPECT_EQ(Doclock({"put", "sagas", "42", "/no/such/file"}).code, 64);
}

TEST_F(CommandsTest, ReplacingADocumentDropsTheFieldsThatAreGone) {
  Doclock({"put", "sagas", "42"}, R"({"a":1,"b":2})");
  Doclock({"put", "sagas", "42"}, R"({"a":1})");
  EXPECT_EQ(Json({"get", "sagas", "42"}), (json{{"a", 1}}));
}

TEST_F(CommandsTest, KeysHaveTypes) {
  EXPECT_EQ(Doclock({"put", "--key-type", "int", "sagas", "42"}, R"({"n":1})").code, 0);
  EXPECT_EQ(Doclock({"get", "sagas", "42"}).code, 66) << "the string is another key";
  EXPECT_EQ(Doclock({"get", "--key-type", "int", "sagas", "42"}).code, 0);
  EXPECT_EQ(Doclock({"get", "--key-type", "int", "sagas", "4x"}).code, 64);
  EXPECT_EQ(Doclock({"get", "--key-type", "uuid", "sagas", "x"}).code, 64);
  EXPECT_EQ(Doclock({"get", "--key-type", "oid", "sagas", "x"}).code, 64);
}

TEST_F(CommandsTest, EditWritesBackAndUnlocksInOneStep) {
  Doclock({"put", "sagas", "42"}, R"({"step":"new"})");
  const Ended ended =
      Doclock({"edit", "--editor", Editor("sed -i s/new/paid/ \"$1\""), "sagas", "42"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(Json({"get", "sagas", "42"}).at("step"), "paid");
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, R"({"step":"free"})").code, 0);
}

TEST_F(CommandsTest, EditFindsItsFileWhateverTheFolderIsCalled) {
  ASSERT_EQ(Doclock({"put", "sagas", "1"}, R"({"n":1})").code, 0);
  const std::string odd = folder / "$HOME `x` 'y' \"z\" \\";
  std::filesystem::create_directory(odd);
  const Ended ended = Program(Command({"edit", "--editor", "sed -i s/1/2/", "sagas", "1"}),
                              {store, "TMPDIR=" + odd})
                          .Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "1"}).out, "{\"n\":2}\n");
}

TEST_F(CommandsTest, EditHoldsTheLockMeanwhile) {
  Doclock({"put", "sagas", "42"}, R"({"step":"new"})");
  const std::string editor = Editor("touch '" + (folder / "here") + "'; while ! [ -e '" +
                                    (folder / "go") + "' ]; do sleep 0.01; done");
  Program edit(Command({"edit", "--editor", editor, "sagas", "42"}), {store});
  ASSERT_TRUE(IsThere());
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, "{}").code, 75);
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(edit.Wait().code, 0);
  EXPECT_EQ(Json({"get", "sagas", "42"}).at("step"), "new");
}

TEST_F(CommandsTest, EditChangesNothingWhenTheResultIsNoJsonOrTheEditorFails) {
  Doclock({"put", "sagas", "42"}, R"({"step":"new"})");
  EXPECT_EQ(Doclock({"edit", "--editor", Editor("echo '{' > \"$1\""), "sagas", "42"}).code, 65);
  EXPECT_EQ(Doclock({"edit", "--editor", Editor("echo '{}' > \"$1\"; exit 1"), "sagas", "42"}).code,
            65);
  EXPECT_EQ(Json({"get", "sagas", "42"}).at("step"), "new");
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, "{}").code, 0) << "it is unlocked";
  EXPECT_EQ(Doclock({"edit", "--editor", "true", "sagas", "43"}).code, 66);
}

TEST_F(CommandsTest, WhatWasWrittenIsKeptWhenTheLockIsLostMeanwhile) {
  Doclock({"put", "sagas", "42"}, R"({"step":"new"})");
  const std::string editor =
      Editor("echo '{\"step\":\"mine\"}' > \"$1\"; touch '" + (folder / "here") +
             "'; while ! [ -e '" + (folder / "go") + "' ]; do sleep 0.01; done");
  Program edit(Command({"edit", "--editor", editor, "sagas", "42"}), {store, temporary});
  ASSERT_TRUE(IsThere());
  EXPECT_EQ(Doclock({"--collection", "sagas", "break", "42"}).code, 0);
  std::ofstream(folder / "go").put('x');
  const Ended ended = edit.Wait();
  EXPECT_EQ(ended.code, 76);
  EXPECT_EQ(Kept(ended.err), "{\"step\":\"mine\"}\n");
}

TEST_F(CommandsTest, WhatWasWrittenIsKeptWheneverItIsNotStored) {
  Doclock({"put", "sagas", "42"}, R"({"step":"new"})");
  const auto expect_kept = [&](const std::string& text, int editor) {
    const Ended ended = Edited(text, editor);
    EXPECT_EQ(ended.code, 65) << text << ended.err;
    EXPECT_EQ(Kept(ended.err), text + "\n");
    EXPECT_EQ(Json({"get", "sagas", "42"}).at("step"), "new");
  };
  expect_kept("{", 0);
  expect_kept(R"({"a":1,"a":2,"precious":"x"})", 0);
  expect_kept(R"({"lockId":1})", 0);
  expect_kept(R"({"step":"mine"})", 1);
  const Ended nothing = Edited(R"({"step":"mine"})", 0);
  EXPECT_EQ(nothing.code, 0);
  EXPECT_EQ(nothing.err, "");
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, "{}").code, 0) << "it is unlocked";
}

TEST_F(CommandsTest, EditLeavesNoFileBehindThatIsNotNeeded) {
  Doclock({"put", "sagas", "42"}, R"({"step":"new"})");
  ASSERT_TRUE(std::filesystem::create_directory(folder / "tmp"));
  for (const char* script : {"true", "sed -i s/new/paid/ \"$1\""}) {
    const std::vector<std::string> edit{"edit", "--editor", Editor(script), "sagas", "42"};
    const Ended ended = Program(Command(edit), {store, "TMPDIR=" + (folder / "tmp")}).Wait();
    EXPECT_THAT(ended.err, Not(HasSubstr("kept"))) << script;
    EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp")) << script;
  }
}

TEST_F(CommandsTest, StatusShowsHolders) {
  Holding run(*this, {"--owner", "me", "--group", "g", "job"});
  const Ended table = Doclock({"status"});
  EXPECT_THAT(table.out, HasSubstr("NAME"));
  EXPECT_THAT(table.out, HasSubstr("job"));
  EXPECT_THAT(table.out, HasSubstr("me ("));
  const json all = Json({"status", "--json"});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].at("name"), "job");
  EXPECT_EQ(all[0].at("owner"), "me");
  EXPECT_EQ(all[0].at("group"), "g");
  EXPECT_EQ(all[0].at("pid"), run.pid());
  EXPECT_EQ(all[0].at("expired"), false);
  EXPECT_GT(all[0].at("remainingMs"), 0);
  EXPECT_EQ(Json({"status", "--json", "--owner", "you"}).size(), 0U);
  EXPECT_EQ(Json({"status", "--json", "--prefix", "j"}).size(), 1U);
  EXPECT_EQ(Json({"status", "--json", "--expired"}).size(), 0U);
  EXPECT_EQ(Json({"--collection", "others", "status", "--json"}).size(), 0U);
  EXPECT_EQ(all[0].at("fence"), 1);
  EXPECT_EQ(all[0].at("keyType"), "string");
  EXPECT_GT(all[0].at("grantedMs"), 1'600'000'000'000);
}

TEST_F(CommandsTest, StatusWatches) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  Program watch(Command({"status", "--watch", "--interval", "100ms", "--json"}), {store});
  Holding run(*this, {"job"});
  ShortPause();
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.Wait().code, 128 + SIGINT);
}

TEST_F(CommandsTest, RenewAndReleaseAreAboutGroups) {
  Holding run(*this, {"--ttl", "300ms", "--group", "g", "job"});
  const json renewed = Json({"renew", "--ttl", "1h", "--json", "g"});
  ASSERT_EQ(renewed.at("renewed").size(), 1U);
  EXPECT_GT(Json({"status", "--json"})[0].at("remainingMs"), 60'000);
  EXPECT_EQ(Doclock({"release", "g"}).out, "released job\n");
  EXPECT_EQ(run.Wait().code, 76) << "its renewal finds out";
  const Ended none = Doclock({"release", "g"});
  EXPECT_EQ(none.code, 66);
  EXPECT_THAT(none.err, HasSubstr("'g'"));
  EXPECT_EQ(Doclock({"renew", "g"}).code, 66);
}

TEST_F(CommandsTest, ALockThatAnotherClientRenewedIsStillItsHoldersAlone) {
  Holding run(*this, {"--ttl", "1h", "--group", "g", "job"});
  EXPECT_EQ(Doclock({"renew", "g"}).code, 0);  // by a process that has ended now
  EXPECT_TRUE(IsHeld("job"));
  run.Signal(SIGKILL);
  run.Wait();
  EXPECT_EQ(Doclock({"run", "--wait", "20s", "job", "--", "true"}).code, 0);
}

TEST_F(CommandsTest, BreakEndsALockAndSaysWhose) {
  Holding run(*this, {"--owner", "me", "--ttl", "1h", "job"});
  EXPECT_THAT(Doclock({"break", "--by", "admin", "job"}).out, HasSubstr("me ("));
  EXPECT_FALSE(IsHeld("job"));
  EXPECT_EQ(Json({"get", "doclock_locks", "job"}).at("broken").at("by"), "admin");
  EXPECT_EQ(Doclock({"break", "job"}).code, 66);
  EXPECT_EQ(Doclock({"break", "unknown"}).code, 66);
}

TEST_F(CommandsTest, BreakAndStatusReachKeysOfEachTypeAndLeaveTheBody) {
  const std::vector<std::pair<std::string, std::string>> keys{
      {"string", "42"},
      {"int", "-42"},
      {"uuid", "6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac"},
      {"oid", "0123456789abcdef01234567"}};
  for (const auto& [type, key] : keys) {
    ASSERT_EQ(Doclock({"put", "--key-type=" + type, "sagas", key}, R"({"n":1})").code, 0);
    std::filesystem::remove(folder / "here");
    std::filesystem::remove(folder / "go");
    Program edit(Command({"edit", "--key-type=" + type, "--editor",
                          Editor("touch '" + (folder / "here") + "'; while ! [ -e '" +
                                 (folder / "go") + "' ]; do sleep 0.01; done; echo {} > \"$1\""),
                          "sagas", key}),
                 {store, temporary});
    ASSERT_TRUE(IsThere());
    const json held = Json({"-c", "sagas", "status", "--json", "--key-type=" + type, key});
    ASSERT_EQ(held.size(), 1U) << type;
    EXPECT_EQ(held[0].at("keyType"), type);
    EXPECT_EQ(held[0].at("name"), key);
    EXPECT_EQ(Doclock({"-c", "sagas", "break", "--key-type=" + type, key}).code, 0) << type;
    EXPECT_EQ(Doclock({"-c", "sagas", "status", "--key-type=" + type, key}).code, 66) << type;
    EXPECT_EQ(Json({"get", "--key-type=" + type, "sagas", key}), (json{{"n", 1}})) << type;
    std::ofstream(folder / "go").put('x');
    EXPECT_EQ(edit.Wait().code, 76);
  }
}

TEST_F(CommandsTest, PurgeForgetsNamesLongUnused) {
  Doclock({"run", "job", "--", "true"});
  EXPECT_EQ(Json({"purge", "--json"}), (json{{"expired", 0}, {"forgotten", 0}}));
  EXPECT_EQ(Doclock({"purge", "--forget"}).code, 64);
  EXPECT_EQ(Json({"purge", "--json", "--forget", "--idle-for", "1h"}).at("forgotten"), 0);
  ASSERT_TRUE(Eventually([&] {
    return Json({"purge", "--json", "--forget", "--idle-for", "1ms"}).at("forgotten") == 1;
  }));
}

TEST_F(CommandsTest, HelpOfEachCommandHasAnExample) {
  EXPECT_EQ(Doclock({"--help"}).code, 0);
  EXPECT_EQ(Doclock({"--version"}).code, 0);
  EXPECT_EQ(Doclock({}).code, 64);
  for (const char* command :
       {"run", "get", "put", "edit", "delete", "collections", "list", "export", "import", "outbox",
        "work", "status", "top", "renew", "release", "purge", "break", "doctor"}) {
    const Ended help = Doclock({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr(std::string("Example: ")));
    EXPECT_THAT(help.out, HasSubstr(std::string("doclock ") + command));
  }
}

TEST_F(CommandsTest, AUrlWithASecretIsNeverRepeated) {
  const Ended ended = Program(Command({"status", "--store", "mysql://root:hunter2@host/x"})).Wait();
  EXPECT_EQ(ended.code, 64);
  EXPECT_THAT(ended.err, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace doclock::cli_test
