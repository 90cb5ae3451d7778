#ifdef DOCLOCK_MODULE

#include <unistd.h>

#include <fstream>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A copy of the command in a folder of its own, where its module has a place.
class ModuleTest : public CliTest {
 protected:
  ModuleTest() {
    fs::create_directories(fs::path(module_).parent_path());
    fs::create_directories(fs::path(command_).parent_path());
    fs::copy_file(DOCLOCK_CLI, command_);
  }
  /// The copy's answer for a store on MongoDB. No server is there.
  Ended OnMongodb() { return Program(StatusOnMongodb()).Wait(); }
  [[nodiscard]] std::vector<std::string> StatusOnMongodb() const {
    return {command_, "status", "--store",
            "mongodb://127.0.0.1:1/locks?serverSelectionTimeoutMS=10"};
  }
  [[nodiscard]] std::string Place() const {
    return fs::relative(DOCLOCK_MODULE, fs::path(DOCLOCK_CLI).parent_path()).string();
  }

  const std::string command_ = folder / "usr/bin/doclock";
  const std::string module_ =
      (fs::path(command_).parent_path() / Place()).lexically_normal().string();
};

TEST_F(ModuleTest, ACommandOnSqliteLoadsNoDriver) {
  const Ended ended = Doclock({"run", "job", "--", "sh", "-c", "cat /proc/$PPID/maps"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("libsqlite3"), Not(HasSubstr("mongo")), Not(HasSubstr("libbson"))));
}

TEST_F(ModuleTest, IsFoundBesideTheCommandWhateverItIsCalled) {
  fs::copy_file(DOCLOCK_MODULE, module_);
  fs::create_symlink(command_, folder / "link");
  for (const std::string& how : {"exec '" + command_ + "'", "exec '" + (folder / "link") + "'",
                                 "cd / && exec -a /no/bin/doclock '" + command_ + "'"}) {
    const Ended ended = Program({"bash", "-c", how + " --version --json"}).Wait();
    EXPECT_THAT(ended.out, AllOf(HasSubstr("\"libmongoc\":\""), HasSubstr("mongodb+srv"))) << how;
    EXPECT_EQ(ended.err, "");
  }
  EXPECT_THAT(OnMongodb().err, HasSubstr("127.0.0.1:1")) << "it was opened";
}

TEST_F(ModuleTest, AMissingOneIsNamedAndLookedForNowhereElse) {
  fs::copy_file(DOCLOCK_MODULE, folder / "doclock_mongodb.so");
  for (const std::string& variable :
       {"PWD=" + (folder / "."), "LD_LIBRARY_PATH=" + (folder / ".")}) {
    std::vector<std::string> command{"sh", "-c", "cd '" + (folder / ".") + "' && exec \"$@\"",
                                     "sh"};
    for (const std::string& word : StatusOnMongodb()) command.push_back(word);
    const Ended ended = Program(command, {variable}).Wait();
    EXPECT_EQ(ended.code, 69);
    EXPECT_THAT(ended.err,
                HasSubstr(module_ + " is missing; install it (package doclock-mongodb)"));
    EXPECT_EQ(ended.out, "");
  }
  const std::string version = Program({command_, "--version", "--json"}).Wait().out;
  EXPECT_THAT(version, AllOf(HasSubstr("\"sqlite\"]"), Not(HasSubstr("mongo"))));
  EXPECT_EQ(Program({command_, "run", "job", "--", "true"}, {store}).Wait().code, 0);
}

TEST_F(ModuleTest, OneOfAnotherBuildIsRefused) {
  fs::copy_file(DOCLOCK_OTHER_MODULE, module_);
  const Ended ended = OnMongodb();
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr(module_ + " is of another build of doclock (0.0.9 other, here "),
                    HasSubstr("install both from one build")));
}

TEST_F(ModuleTest, OneThatCannotBeLoadedIsRefused) {
  std::ofstream(module_) << "not a library";
  const Ended ended = OnMongodb();
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("it cannot be loaded: "), HasSubstr(module_)));
}

TEST_F(ModuleTest, APrivilegedCommandLoadsNone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (Program({"setpriv", "--version"}).Wait().code != 0) GTEST_SKIP() << "no setpriv here";
  fs::copy_file(DOCLOCK_MODULE, module_);
  fs::permissions(folder / ".", fs::perms(0755));
  fs::permissions(command_, fs::perms(04755));
  std::vector<std::string> command{"setpriv", "--reuid=65534", "--clear-groups"};
  for (const std::string& word : StatusOnMongodb()) command.push_back(word);
  const Ended ended = Program(command).Wait();
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.err, HasSubstr("set-user-ID"));
}

TEST_F(ModuleTest, ItsDriverPrintsNothing) {
  fs::copy_file(DOCLOCK_MODULE, module_);
  // A file of libmongoc's that is in its way, as one that a killed process left.
  const std::string script =
      "unset MONGOC_DISABLE_SHM; shm=/dev/shm/mongoc-$$; echo > $shm; exec \"$@\"";
  std::vector<std::string> command{"bash", "-c", script, "bash"};
  for (const std::string& word : StatusOnMongodb()) command.push_back(word);
  Program run(command);
  const std::string counters = "/dev/shm/mongoc-" + std::to_string(run.pid());
  const Ended ended = run.Wait();
  EXPECT_TRUE(fs::remove(counters)) << "it was in the way";
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("127.0.0.1:1"), Not(HasSubstr("WARNING"))));
}

}  // namespace
}  // namespace doclock::cli_test

#endif
