
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// Documents that leave the store as lines, and come back.
class TransferTest : public CliTest {
 protected:
  /// So many documents {"n": i} with the keys 0, 1, ...
  static std::string LinesOf(int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) {
      lines += json{{"key", std::to_string(i)}, {"body", {{"n", i}}}}.dump() + "\n";
    }
    return lines;
  }
  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return folder / name;
  }
  static std::size_t CountOf(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(TransferTest, WhatIsExportedIsImportedAgain) {
  ASSERT_EQ(Doclock({"put", "--key-type", "int", "sagas", "7"}, R"({"n":[1,2.0,{"a":null}]})").code,
            0);
  ASSERT_EQ(Doclock({"put", "sagas", "tab\t\"ü"}, "{}").code, 0);
  const Ended out = Doclock({"export", "sagas", folder / "out"});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.out, "2 documents exported\n");
  const Ended in = Doclock({"import", "copies", folder / "out"});
  EXPECT_EQ(in.code, 0) << in.err;
  EXPECT_EQ(in.out, "2 documents imported\n");
  EXPECT_EQ(Doclock({"get", "--json", "--key-type", "int", "copies", "7"}).out,
            "{\"n\":[1,2.0,{\"a\":null}]}\n");
  EXPECT_EQ(Doclock({"export", "sagas"}).out.size(), TextOf(folder / "out").size());
}

TEST_F(TransferTest, NumbersKeepAllDigits) {
  const std::string body =
      R"({"a":[1.50,{"b":12345678901234567.89}],"c":18446744073709551617,"d":-1e400})";
  const std::string line = R"({"body":)" + body + R"(,"key":"a","keyType":"string"})";
  ASSERT_EQ(Doclock({"import", "sagas"}, line + "\n").code, 0);
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "a"}).out, body + "\n");
  EXPECT_THAT(Doclock({"get", "sagas", "a"}).out,
              HasSubstr("\n      \"b\": 12345678901234567.89\n"));
  ASSERT_EQ(Doclock({"import", "copies"}, Doclock({"export", "sagas"}).out).code, 0);
  EXPECT_EQ(Doclock({"get", "--json", "copies", "a"}).out, body + "\n");
  const std::string other = R"({"body":{"a":12345678901234567.88},"key":"a"})";
  ASSERT_EQ(Doclock({"import", "copies"}, other + "\n").code, 0);
  EXPECT_EQ(Doclock({"get", "--json", "copies", "a"}).out, "{\"a\":12345678901234567.88}\n");
  ASSERT_EQ(Doclock({"put", "copies", "a"}, body).code, 0);
  EXPECT_EQ(Doclock({"get", "--json", "copies", "a"}).out, body + "\n");
}

TEST_F(TransferTest, ABadLineIsNamedAndEndsTheImport) {
  const std::string good = LinesOf(2);
  for (const std::string bad :
       {"{", "[]", R"({"key":"a"})", R"({"body":{}})", R"({"key":"a","keyType":"frob","body":{}})",
        R"({"key":"x","keyType":"int","body":{}})"}) {
    const Ended ended = Doclock({"import", "sagas", File("bad", good + bad + "\n")});
    EXPECT_EQ(ended.code, 65) << bad;
    EXPECT_EQ(ended.out, "2 documents imported\n") << bad;
    EXPECT_THAT(ended.err, HasSubstr("ended at line 3; mend the cause and repeat it\n")) << bad;
    EXPECT_THAT(ended.err, HasSubstr("doclock: line 3: ")) << bad;
  }
  EXPECT_EQ(Doclock({"import", "sagas", "/no/such/file"}).code, 64);
}

TEST_F(TransferTest, WhereALineIsNoJsonIsTold) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"key":"a","body":tru})", "column 22: "},
      {R"({"key":"a","body":{"n")", "unexpected end of input"},
      {"{\"key\":\"\xFF\"}", "UTF-8"},
      {R"({"key":"a","body":{"n":1e999,}})", "column 30: "}};
  for (const auto& [line, why] : cases) {
    const Ended ended = Doclock({"import", "sagas"}, line + "\n");
    EXPECT_EQ(ended.code, 65) << line;
    EXPECT_THAT(ended.err, HasSubstr("doclock: line 1: this is not valid JSON: parse error at "));
    EXPECT_THAT(ended.err, HasSubstr(why)) << line;
    EXPECT_THAT(ended.err, Not(HasSubstr("last read"))) << "it is part of a body";
  }
}

TEST_F(TransferTest, AnInputThatCannotBeReadMakesNoStore) {
  for (const std::string& input : {folder / "missing", folder / "."}) {
    const Ended ended = Doclock({"import", "sagas", input});
    EXPECT_EQ(ended.code, 64) << input;
    EXPECT_THAT(ended.err, HasSubstr("FILE: '" + input + "' cannot be read")) << input;
    EXPECT_FALSE(std::filesystem::exists(folder / "locks.db")) << input;
  }
}

TEST_F(TransferTest, TwoLinesOfOneKeyAreRefused) {
  const std::string lines = LinesOf(3) + R"({"key":"1","body":{"n":"other"}})";
  const Ended ended = Doclock({"import", "sagas"}, lines);
  EXPECT_EQ(ended.code, 65) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("lines 2 and 4 have the same key, '1'"));
}

TEST_F(TransferTest, AnImportWaitsForLocksOrNamesThem) {
  ASSERT_EQ(Doclock({"put", "sagas", "1"}, R"({"n":"mine"})").code, 0);
  Holding holder(*this, {"-c", "sagas", "1"});
  const Ended busy = Doclock({"import", "--json", "sagas"}, LinesOf(3));
  EXPECT_EQ(busy.code, 75);
  EXPECT_EQ(json::parse(busy.out), (json{{"imported", 2}, {"unchanged", 0}, {"locked", 1}}));
  EXPECT_THAT(busy.err, HasSubstr("skipped the document '1': it is locked"));
  Program waiting(Command({"import", "--wait", "20s", "sagas"}), {store}, LinesOf(3));
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(waiting.Wait().code, 0);
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "1"}).out, "{\"n\":1}\n");
}

TEST_F(TransferTest, AnImportCanLeaveAloneWhatIsThere) {
  ASSERT_EQ(Doclock({"put", "sagas", "1"}, R"({"n":"mine"})").code, 0);
  EXPECT_EQ(json::parse(Doclock({"import", "--json", "--create", "sagas"}, LinesOf(3)).out),
            (json{{"imported", 2}, {"unchanged", 1}, {"locked", 0}}));
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "1"}).out, "{\"n\":\"mine\"}\n");
  EXPECT_EQ(json::parse(Doclock({"import", "--json", "sagas"}, LinesOf(3)).out),
            (json{{"imported", 3}, {"unchanged", 0}, {"locked", 0}}));
}

TEST_F(TransferTest, AnImportCreatesWhatIsMissingInOneWrite) {
  const auto versions = [&] {
    std::vector<std::int64_t> found;
    std::istringstream lines(Doclock({"list", "--json", "sagas"}).out);
    for (std::string line; std::getline(lines, line);) {
      found.push_back(json::parse(line).at("version").get<std::int64_t>());
    }
    return found;
  };
  ASSERT_EQ(Doclock({"import", "sagas"}, LinesOf(5)).code, 0);
  EXPECT_THAT(versions(), ::testing::ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(TransferTest, AnExportReplacesNoFileAndKeepsWhatItRead) {
  ASSERT_EQ(Doclock({"import", "sagas"}, LinesOf(2)).code, 0);
  sqlite_test::RawDatabase(folder / "locks.db")
      .Run("UPDATE doclock_c_sagas SET body='{broken' WHERE key='1'");
  EXPECT_EQ(Doclock({"export", "sagas", folder / "some"}).code, 65);
  EXPECT_EQ(CountOf(TextOf(folder / "some")), 1U);
  const Ended again = Doclock({"export", "sagas", folder / "some"});
  EXPECT_EQ(again.code, 64);
  EXPECT_THAT(again.err, HasSubstr("some' exists; choose another name"));
  EXPECT_EQ(std::filesystem::status(folder / "some").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const Ended nowhere = Doclock({"export", "sagas", "/no/such/folder/out"});
  EXPECT_EQ(nowhere.code, 74);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot be written: No such file or directory"));
}

TEST_F(TransferTest, AnImportFromANameThatIsTooLongIsAUsageError) {
  const Ended ended = Doclock({"import", "sagas", folder / std::string(300, 'x')});
  EXPECT_EQ(ended.code, 64);
  EXPECT_THAT(ended.err, HasSubstr("cannot be read"));
}

TEST_F(TransferTest, OutputThatDoesNotArriveIs74) {
  ASSERT_EQ(Doclock({"import", "sagas"}, LinesOf(3)).code, 0);
  for (const std::string words :
       {"export sagas", "list sagas", "list --json sagas", "list --keys sagas", "collections",
        "doctor", "--version --json", "export sagas /dev/full"}) {
    const Ended ended =
        Program({"sh", "-c", std::string(DOCLOCK_CLI) + " " + words + " > /dev/full"}, {store})
            .Wait();
    const bool exists = words == "export sagas /dev/full";  // a file that exists is refused
    EXPECT_EQ(ended.code, exists ? 64 : 74) << words << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(exists ? "exists" : "the output cannot be written")) << words;
  }
}

}  // namespace
}  // namespace doclock::cli_test
