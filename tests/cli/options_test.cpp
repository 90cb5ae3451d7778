#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A command line that is not right, and what its message has to name.
struct BadLine {
  std::vector<std::string> words;
  std::string named;
};

void PrintTo(const BadLine& line, std::ostream* out) {
  for (const std::string& word : line.words) *out << ' ' << word.substr(0, 40);
}

class BadLineTest : public CliTest, public ::testing::WithParamInterface<BadLine> {};

TEST_P(BadLineTest, EndsWith64AndOneLineThatNamesWhatIsWrong) {
  const Ended ended = Doclock(GetParam().words);
  EXPECT_EQ(ended.code, 64) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr(GetParam().named));
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  EXPECT_TRUE(ended.err.starts_with("doclock: ")) << ended.err;
  EXPECT_LT(ended.err.size(), 400U) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr("Options::"))) << "no names of C++";
  EXPECT_THAT(ended.err.substr(9), Not(HasSubstr("doclock: ")));
  EXPECT_FALSE(std::filesystem::exists(folder / "locks.db"));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadLineTest,
    ::testing::Values(
        BadLine{
            {},
            "run, get, put, edit, delete, collections, list, export, import, outbox, work, status, "
            "top, renew, release, purge, break, doctor"},
        BadLine{{"stauts"}, "'stauts' is not a command; the commands are run, get"},
        BadLine{{"frobnicate"}, "'frobnicate' is not a command"}, BadLine{{""}, "not a command"},
        BadLine{{"--json"}, "there is no command"}, BadLine{{"--store"}, "--store"},
        BadLine{{"--frob", "status"}, "--frob"}, BadLine{{"-V"}, "no option '-V'"},
        BadLine{{"--stroe", "mysql:x", "status"}, "no option '--stroe'"},
        BadLine{{"--store", "sqlite:x.db", "--store-file", "f", "status"}, "--store-file"},
        BadLine{{"--store", "memory:", "run", "job", "--", "true"}, "--store: memory:"},
        BadLine{{"--store", "memory:", "status"}, "would lock nothing"},
        BadLine{{"--store", "memory:", "status"}, "sqlite:PATH"},
        BadLine{{"--store", "mysql:x", "status"}, "sqlite:PATH"},
        BadLine{{"status", "--frob=secret"}, "--frob"},
        BadLine{{"run", "job", "echo", "hi"}, "write -- before the command"},
        BadLine{{"run", "job"}, "write -- before the command"},
        BadLine{{"run", "job", "--"}, "no command after --"},
        BadLine{{"run", "--", "true"}, "NAME"},
        BadLine{{"run", "job", "more", "--", "true"}, "'more'"},
        BadLine{{"status", "-x"}, "write -- before a name or key that begins with -"},
        BadLine{{"run", "--", "-x"}, "write -- before the command"},
        BadLine{{"list"}, "COLLECTION"}, BadLine{{"list", "--where", "n", "sagas"}, "--where"},
        BadLine{{"list", "--where", "=1", "sagas"}, "--where"},
        BadLine{{"list", "--descending", "sagas"}, "--order-by"},
        BadLine{{"list", "--free", "--locked", "sagas"}, "--free"},
        BadLine{{"outbox", "outbox", "m1"}, "KEY needs --retry or --drop"},
        BadLine{{"outbox", "outbox", ""}, "KEY needs --retry or --drop"},
        BadLine{{"work", "orders", ""}, "KEY needs --retry or --drop"},
        BadLine{{"put", "--create", "--wait", "1s", "sagas", "1"}, "--create"},
        BadLine{{"doctor", "x"}, "'x'"}, BadLine{{"collections", "x"}, "'x'"},
        BadLine{{"status", "--", "a", "b"}, "'b'"}, BadLine{{"status", "a", "b"}, "'b'"},
        BadLine{{"get", "sagas"}, "KEY"}, BadLine{{"get"}, "COLLECTION"},
        BadLine{{"release"}, "GROUP"}, BadLine{{"break"}, "NAME"},
        BadLine{{"purge", "--idle-for", "3d"}, "--forget"},
        BadLine{{"purge", "--forget"}, "--idle-for"},
        BadLine{{"status", "--expired", "--live"}, "--live"},
        BadLine{{"status", "--interval", "1s"}, "--watch"},
        BadLine{{"status", "--watch", "--interval", "1ms"}, "--interval"},
        BadLine{{"run", "--fence-env", "A=B", "job", "--", "true"}, "--fence-env"},
        BadLine{{"run", "--shared", "2", "--min-hold", "1s", "job", "--", "true"}, "--min-hold"},
        BadLine{{"run", "--ttl", "4s", "--kill-after", "3s", "job", "--", "true"}, "--kill-after"},
        BadLine{{"get", "--key-type", "int", "sagas", "4x"}, "KEY"},
        BadLine{{"break", "--key-type", "uuid", "x"}, "KEY"},
        BadLine{{"status", "--key-type", "oid", "x"}, "KEY"},
        BadLine{{"get", "sagas", std::string(2000, 'k')}, "KEY"},
        BadLine{{"put", "sagas", "42", "/no/such/file"}, "FILE"},
        BadLine{{"--store-file", "/no/such/file", "status"}, "--store-file"},
        BadLine{{"--store", "mysql://root:hunter2@host/x", "status"}, "--store"},
        BadLine{{"--store", "sqlite:x.db?frob=1", "status"}, "--store"},
        BadLine{{"--store", "\x01\xff", "status"}, "--store"}));

/// An option of a command, with the rest of a line that would be right.
struct Option {
  std::string name;
  std::vector<std::string> before, behind;
  std::string good;
};

void PrintTo(const Option& option, std::ostream* out) { *out << option.before[0] << option.name; }

class EveryOptionTest : public CliTest, public ::testing::WithParamInterface<Option> {
 protected:
  void SetUp() override { ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0); }
  Ended With(const std::vector<std::string>& words) {
    std::vector<std::string> line = GetParam().before;
    line.insert(line.end(), words.begin(), words.end());
    line.insert(line.end(), GetParam().behind.begin(), GetParam().behind.end());
    return Doclock(line, "{}");
  }
};

TEST_P(EveryOptionTest, TakesNoNonsenseAndSaysSoInOneLineThatNamesIt) {
  const Option& option = GetParam();
  const std::vector<std::string> odd{"",        std::string(100'000, 'x'),
                                     "-1",      "-99999999999999999999",
                                     "1e999",   "nan",
                                     "%s%n",    "\xff\xfe",
                                     "\x1b[2J", "a\nb",
                                     "--"};
  for (const std::string& value : odd) {
    const Ended ended = With({option.name + "=" + value});
    // Some is right for some: an owner may be called -1.
    EXPECT_THAT(ended.code, ::testing::AnyOf(0, 1, 64, 66)) << value.substr(0, 40) << ended.err;
    if (ended.code == 64) {
      EXPECT_THAT(ended.err, HasSubstr(option.name)) << value.substr(0, 40);
      EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    }
    EXPECT_THAT(ended.err, Not(HasSubstr("\x1b"))) << value.substr(0, 40);
    EXPECT_LT(ended.err.size(), 5'000U);
  }
  EXPECT_EQ(With({option.name + "="}).code, 64) << "empty";
  const Ended twice = With({option.name, option.good, option.name, option.good});
  EXPECT_EQ(twice.code, 64);
  EXPECT_THAT(twice.err, HasSubstr(option.name + " may be given only once"));
}

const std::string kSecretUrl = "mongodb://u:canary@h/db";

/// Without a store, so that a line that may be right comes no further.
void ExpectNoPassword(const std::vector<std::string>& arguments) {
  std::vector<std::string> line = arguments;
  line.insert(line.begin(), DOCLOCK_CLI);
  const Ended ended = Program(line).Wait();
  EXPECT_THAT(ended.code, ::testing::AnyOf(0, 64, 65));  // --help; put reads first
  EXPECT_THAT(ended.err + ended.out, Not(HasSubstr("canary")))
      << ::testing::PrintToString(arguments);
}

TEST_P(EveryOptionTest, RepeatsNoPassword) {
  const Option& option = GetParam();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {option.name, kSecretUrl}, {option.name + "=" + kSecretUrl}}) {
    std::vector<std::string> line = option.before;
    line.insert(line.end(), words.begin(), words.end());
    line.insert(line.end(), option.behind.begin(), option.behind.end());
    ExpectNoPassword(line);
  }
}

TEST_F(CliTest, RepeatsNoPasswordWhereverItIs) {
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"run", "--wait", "1s", "job", "--", "true"}, {"put", "sagas", "1"}, {"status"}}) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      std::vector<std::string> other = line;
      other[i] = kSecretUrl;
      ExpectNoPassword(other);
      for (const char* prefix : {"", "-", "--", "--frob=", "--json=", "--help="}) {
        other = line;
        other.insert(other.begin() + static_cast<std::ptrdiff_t>(i), prefix + kSecretUrl);
        ExpectNoPassword(other);
      }
    }
  }
}

std::vector<Option> EveryOption() {
  std::vector<Option> all;
  const auto add = [&](const std::vector<std::string>& before,
                       const std::vector<std::string>& behind,
                       const std::vector<std::pair<std::string, std::string>>& options) {
    for (const auto& [name, good] : options) all.push_back({name, before, behind, good});
  };
  add({"run"}, {"job", "--", "true"},
      {{"--wait", "1s"},
       {"--ttl", "1s"},
       {"--min-hold", "1s"},
       {"--shared", "2"},
       {"--kill-after", "1s"},
       {"--owner", "me"},
       {"--group", "g"},
       {"--fence-env", "FENCE"},
       {"--busy-exit", "1"},
       {"--collection", "jobs"},
       {"--store-file", "f"}});
  add({"put"}, {"sagas", "1"}, {{"--key-type", "int"}, {"--wait", "1s"}, {"--ttl", "1s"}});
  add({"put"}, {"sagas", "1"}, {{"--if-version", "1"}});
  add({"delete"}, {"sagas", "1"}, {{"--key-type", "int"}, {"--wait", "1s"}, {"--ttl", "1s"}});
  add({"list"}, {"sagas"}, {{"--order-by", "n"}, {"--limit", "2"}});
  add({"import"}, {"sagas", "/dev/null"}, {{"--wait", "1s"}, {"--ttl", "1s"}});
  add({"edit", "--editor", "true"}, {"sagas", "1"}, {{"--wait", "1s"}, {"--key-type", "int"}});
  add({"edit"}, {"sagas", "1"}, {{"--editor", "true"}});
  add({"status"}, {},
      {{"--prefix", "a"}, {"--owner", "me"}, {"--group", "g"}, {"--key-type", "int"}});
  add({"renew"}, {"g"}, {{"--ttl", "1s"}});
  add({"purge", "--forget"}, {}, {{"--idle-for", "1h"}});
  add({"break"}, {"job"}, {{"--by", "me"}, {"--key-type", "int"}});
  return all;
}

TEST_F(CliTest, OffersNoStoreThatItDoesNotTake) {
  const Ended unknown = Doclock({"--store", "mysql:x", "status"});
  EXPECT_THAT(unknown.err, HasSubstr("the URL's scheme is not known"));
  EXPECT_THAT(unknown.err, Not(HasSubstr("memory:")));
}

TEST_F(CliTest, TheStoreFileMayHaveLineEndsOfWindows) {
  std::ofstream(folder / "url") << "sqlite:" << (folder / "other.db") << "\r\n";
  EXPECT_EQ(Doclock({"--store-file", folder / "url", "run", "job", "--", "true"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "other.db"));
}

TEST_F(CliTest, TimesAreSecondsWithoutAUnitAndMayHaveFractions) {
  for (const char* time : {"1", "1.5s", "0.02m"}) {
    EXPECT_EQ(Doclock({"run", "--ttl", time, "job", "--", "true"}).code, 0) << time;
  }
}

TEST_F(CliTest, RepeatsNoPasswordThatIsInPlaceOfAFileOrCommand) {
  const std::string url = "mongodb://u:canary@h/db";
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{url},
                                             {url, "status"},
                                             {"--" + url + "="},
                                             {"put", "sagas", "42", url},
                                             {"--store-file", url, "status"},
                                             {"run", "job", "--", url}}) {
    const Ended ended = Doclock(line);
    EXPECT_NE(ended.code, 0);
    EXPECT_NE(ended.err, "");
    EXPECT_THAT(ended.err, Not(HasSubstr("canary")));
  }
}

INSTANTIATE_TEST_SUITE_P(Options, EveryOptionTest, ::testing::ValuesIn(EveryOption()));

}  // namespace
}  // namespace doclock::cli_test
