#ifdef DOCLOCK_WITH_MONGODB

#include <fstream>
#include <regex>
#include <thread>

#include "cli/harness.h"
#include "cli/mongodb/relay.h"
#include "mongodb/support/raw_server.h"
#include "process/fake_time.h"

namespace doclock::cli_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using SteadyClock = std::chrono::steady_clock;

/// `doclock run` over a replica set: here the lock of a dead process ends with its lease.
class MongodbRunTest : public CliTest {
 protected:
  void SetUp() override { store = "DOCLOCK_STORE=" + database_.uri(); }

  /// A command that says whether the staying one still works, and ends.
  std::vector<std::string> LookingAtStayer() {
    const std::string status = "/proc/" + std::to_string(Stayer()) + "/status";
    return {"sh", "-c",
            "if grep -q '^State:[[:space:]]*[^ZX[:space:]]' " + status +
                " 2> /dev/null; then echo two at work; else echo alone; fi"};
  }
  /// The rest of the lease, as another process sees it.
  std::chrono::milliseconds Left(const std::string& name) {
    const std::string out = Doclock({"status", "--live", name, "--json"}).out;
    std::smatch found;
    if (!std::regex_search(out, found, std::regex("\"remainingMs\":([0-9]+)"))) return 0ms;
    return std::chrono::milliseconds(std::stol(found[1]));
  }

  mongo_test::Database database_{mongo_test::SetUri()};
};

#ifdef DOCLOCK_MODULE
TEST_F(MongodbRunTest, LoadsTheModuleAndLeavesTheEnvironmentAlone) {
  const std::string script =
      "unset MONGOC_DISABLE_SHM; exec " DOCLOCK_CLI " run job -- sh -c 'cat /proc/$PPID/maps; env'";
  const Ended ended = Program({"bash", "-c", script}, {store}).Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(DOCLOCK_MODULE));
  EXPECT_THAT(ended.out, HasSubstr("libmongoc"));
  EXPECT_THAT(ended.out, Not(HasSubstr("MONGOC_DISABLE_SHM")));
}
#endif

TEST_F(MongodbRunTest, KillingItKillsTheCommandAndTheNextStartsWhenTheLeaseEnds) {
  Holding run(*this, {"--ttl", "3s", "job"});
  const pid_t stayer = Stayer();
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait().code, 128 + SIGKILL);
  EXPECT_TRUE(Eventually([&] { return !Exists(stayer); }));
  const auto begin = SteadyClock::now();
  const auto left = Left("job");
  ASSERT_GT(left, 0ms) << "a server does not learn that a process has died";
  const Ended next = Program(Run({"--wait", "1m", "job"}, LookingAtStayer()), {store}).Wait();
  const auto took = SteadyClock::now() - begin;
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(next.out, "alone\n");
  EXPECT_GE(took, left - 100ms);
  EXPECT_LT(took, left + 25s) << "it waits for the end of the lease, and not much longer";
}

TEST_F(MongodbRunTest, StatusTellsTheFenceOfEachShareAndOfANamedLock) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  const std::string fence = "echo $FENCE > '" + (folder / "here") + "'; while ! [ -e '" +
                            (folder / "go") + "' ]; do sleep 0.01; done";
  Program run(Run({"--fence-env", "FENCE", "job"}, {"sh", "-c", fence}), {store});
  ASSERT_TRUE(Eventually([&] { return TextOf(folder / "here").ends_with("\n"); }));
  EXPECT_THAT(Doclock({"status", "--json"}).out,
              HasSubstr("\"fence\":" + std::to_string(std::stol(TextOf(folder / "here")))));
  const auto share = [&](const std::string& command) {
    return Run({"--fence-env", "FENCE", "--shared", "2", "shared"}, {"sh", "-c", command});
  };
  std::vector<std::string> inner = share(std::string(DOCLOCK_CLI) + " --store-file '" +
                                         (folder / "url") + "' status --json shared");
  inner.insert(inner.begin() + 1, {"--store-file", folder / "url"});
  std::ofstream(folder / "url") << store.substr(store.find('=') + 1) << '\n';
  const Ended ended =
      Program(Run({"--fence-env", "FENCE", "--shared", "2", "shared"}, inner), {store}).Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, ::testing::AllOf(HasSubstr("\"fence\":1"), HasSubstr("\"fence\":2")));
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(run.Wait().code, 0);
}

/// Over a cable, to a server alone: of a replica set the driver would find the other members.
class MongodbCableTest : public MongodbRunTest {
 protected:
  void SetUp() override { store = "DOCLOCK_STORE=" + alone_.uri(); }
  static int PortOf(const std::string& uri) {
    std::smatch found;
    std::regex_search(uri, found, std::regex(":([0-9]+)/"));
    return std::stoi(found[1]);
  }
  std::string Through(const Relay& relay) const {
    return "DOCLOCK_STORE=mongodb://127.0.0.1:" + std::to_string(relay.port()) + "/" +
           alone_.name() + "?directConnection=true";
  }

  mongo_test::Database alone_{mongo_test::StandaloneUri()};
  Relay relay_{PortOf(alone_.uri())};
};

TEST_F(MongodbCableTest, ACommandWhoseStoreIsAwayEndsBeforeTheNextOneStarts) {
  const std::string trap = "trap 'echo term; exit 0' TERM; echo $$ > '" + (folder / "here") +
                           "'; while :; do sleep 0.01; done";
  Program run(Run({"--ttl", "4s", "--kill-after", "1500ms", "job"}, {"sh", "-c", trap}),
              {Through(relay_)});
  ASSERT_TRUE(Eventually([&] { return TextOf(folder / "here").ends_with("\n"); }));
  relay_.Unplug();
  const Ended next = Program(Run({"--wait", "1m", "job"}, LookingAtStayer()), {store}).Wait();
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(next.out, "alone\n");
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 76);
  EXPECT_EQ(ended.out, "term\n") << "it had the time to end by itself";
  EXPECT_THAT(ended.err, HasSubstr("cannot be renewed"));
  EXPECT_THAT(ended.err, Not(HasSubstr("mongodb://")));
}

TEST_F(MongodbCableTest, ACommandThatDoesNotListenIsKilledBeforeTheNextOneStarts) {
  const std::string deaf =
      "trap '' TERM; echo $$ > '" + (folder / "here") + "'; while :; do sleep 0.01; done";
  Program run(Run({"--ttl", "3s", "job"}, {"sh", "-c", deaf}), {Through(relay_)});
  ASSERT_TRUE(Eventually([&] { return TextOf(folder / "here").ends_with("\n"); }));
  relay_.Unplug();
  const Ended next = Program(Run({"--wait", "1m", "job"}, LookingAtStayer()), {store}).Wait();
  EXPECT_EQ(next.out, "alone\n") << next.err;
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 76);
  EXPECT_THAT(ended.err, HasSubstr("lost; killing"));
}

TEST_F(MongodbCableTest, AStoreThatIsAwayEndsWith69AndItsUrlIsNotRepeated) {
  const std::string url = "DOCLOCK_STORE=mongodb://me:canary@127.0.0.1:1/" + alone_.name() +
                          "?directConnection=true&serverSelectionTimeoutMS=200";
  for (const char* wait : {"0", "500ms"}) {
    const Ended ended =
        Program(Run({"--wait", wait, "--busy-exit", "0", "job"}, {"true"}), {url}).Wait();
    EXPECT_EQ(ended.code, 69) << wait;
    EXPECT_FALSE(ended.err.empty());
    EXPECT_THAT(ended.err, Not(HasSubstr("canary")));
    EXPECT_THAT(ended.err + ended.out, Not(HasSubstr("mongoc: "))) << "the driver's own log";
  }
}

/// How long `run` takes without a server, and what it says.
class MongodbOutageTest : public MongodbCableTest {
 protected:
  std::chrono::milliseconds Run1s(const std::string& url, Ended& ended) {
    const auto begin = SteadyClock::now();
    ended = Program(Run({"--wait", "1s", "--busy-exit", "0", "job"}, {"true"}), {url}).Wait();
    return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begin);
  }
};

TEST_F(MongodbOutageTest, AWaitEndsInTimeWithTheCauseIfNoServerListens) {
  Ended ended;
  const auto took = Run1s("DOCLOCK_STORE=mongodb://127.0.0.1:1/x?directConnection=true", ended);
  EXPECT_LT(took, 25s);
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.err, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(ended.err, HasSubstr("ailed to connect"));
}

TEST_F(MongodbOutageTest, AWaitEndsInTimeIfTheServerIsSilent) {
  relay_.Unplug();
  Ended ended;
  EXPECT_LT(Run1s(Through(relay_), ended), 25s);
  EXPECT_EQ(ended.code, 69);
  EXPECT_THAT(ended.err, Not(HasSubstr("held by")));
  EXPECT_FALSE(ended.err.empty());
}

TEST_F(MongodbOutageTest, AWaitThatMeetsAnOutageNamesItsCause) {
  Holding holder(*this, {"job"});
  // The server is named once an attempt has failed, which takes longer on a busy machine.
  for (const auto wait : {4s, 16s, 64s}) {
    Relay relay(PortOf(alone_.uri()));
    Program waiting(Run({"--wait", std::to_string(wait.count()) + "s", "job"}, {"true"}),
                    {Through(relay)});
    ASSERT_TRUE(Eventually([&] { return relay.connections() > 0; }));
    std::this_thread::sleep_for(500ms);  // it waits now
    relay.Refuse();
    const auto begin = SteadyClock::now();
    const Ended ended = waiting.Wait();
    EXPECT_LT(SteadyClock::now() - begin, wait + 25s);
    EXPECT_EQ(ended.code, 69) << ended.err;
    if (ended.err.find("127.0.0.1:" + std::to_string(relay.port())) != std::string::npos) return;
  }
  ADD_FAILURE() << "the server is not named";
}

TEST_F(MongodbOutageTest, ASignalEndsItAlsoWhileItLooksForTheServer) {
  relay_.Unplug();
  Program run(Run({"job"}, {"true"}), {Through(relay_)});
  ASSERT_TRUE(Eventually([&] {
    return TextOf("/proc/" + std::to_string(run.pid()) + "/status")
               .find("SigBlk:\t0000000000000000") == std::string::npos;
  }));
  run.Signal(SIGTERM);
  const auto begin = SteadyClock::now();
  EXPECT_EQ(run.Wait().code, 128 + SIGTERM);
  EXPECT_LT(SteadyClock::now() - begin, 25s);
}

TEST_F(MongodbRunTest, DocumentsAreListedWrittenAndCarriedOver) {
  ASSERT_EQ(Doclock({"put", "--create", "--key-type", "oid", "sagas", "0123456789abcdef01234567"},
                    R"({"n":1})")
                .code,
            0);
  ASSERT_EQ(Doclock({"put", "sagas", "--", "-x"}, R"({"n":2})").code, 0);
  EXPECT_EQ(Doclock({"put", "--create", "sagas", "--", "-x"}, "{}").code, 73);
  EXPECT_EQ(Doclock({"put", "--if-version", "99", "sagas", "--", "-x"}, "{}").code, 73);
  EXPECT_THAT(Doclock({"collections"}).out, HasSubstr("sagas\n"));
  EXPECT_EQ(Doclock({"list", "--keys", "--where", "n>1", "sagas"}).out, "-x\n");
  ASSERT_EQ(Doclock({"export", "sagas", folder / "out"}).code, 0);
  EXPECT_EQ(Doclock({"import", "copies", folder / "out"}).out, "2 documents imported\n");
  EXPECT_EQ(
      Doclock({"get", "--json", "--key-type", "oid", "copies", "0123456789abcdef01234567"}).out,
      "{\"n\":1}\n");
  EXPECT_EQ(Doclock({"delete", "copies", "--", "-x"}).code, 0);
  EXPECT_EQ(Doclock({"get", "copies", "--", "-x"}).code, 66);
}

TEST_F(MongodbRunTest, TheDoctorMakesNoCollectionAndWarnsOfASingleServer) {
  const Ended missing = Doclock({"doctor"});
  EXPECT_EQ(missing.code, 0);
  EXPECT_THAT(missing.out, HasSubstr("there is no collection doclock_locks yet"));
  EXPECT_THAT(missing.out, HasSubstr("ok       privileges"));
  EXPECT_EQ(Doclock({"collections"}).out, "");
  mongo_test::RawServer(database_.uri())
      .Run(database_.name(), mongodb::Doc::Of("create", "seen").Add("viewOn", "things"));
  const Ended view = Doclock({"-c", "seen", "doctor"});
  EXPECT_EQ(view.code, 78);
  EXPECT_THAT(view.out, HasSubstr("problem  collection: the collection seen is a view"));
  const mongo_test::Database single{mongo_test::StandaloneUri()};
  const Ended ended = Program(Command({"doctor"}), {"DOCLOCK_STORE=" + single.uri()}).Wait();
  EXPECT_EQ(ended.code, 78) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("warning  topology"));
}

TEST_F(MongodbRunTest, TheDoctorLooksAtTheServersAndStatusAtWhatIsClosed) {
  ASSERT_EQ(Doclock({"run", "--min-hold", "1h", "cron", "--", "true"}).code, 0);
  EXPECT_THAT(Doclock({"status", "cron"}).out, HasSubstr("closed"));
  const Ended doctor = Doclock({"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.out << doctor.err;
  for (const char* check : {"server: MongoDB", "topology: replica set", "clocks", "time", "disk",
                            "privileges", "indexes", "leftovers: 0"}) {
    EXPECT_THAT(doctor.out, HasSubstr(std::string("ok       ") + check));
  }
  const auto library = test::FakeTimeLibrary();
  if (!library) GTEST_SKIP() << "libfaketime is not installed";
  const Ended skewed = Program(Command({"doctor"}), test::FakeTime(*library, "+1h", store)).Wait();
  EXPECT_EQ(skewed.code, 78) << skewed.out << skewed.err;
  EXPECT_THAT(skewed.out, HasSubstr("warning  time"));
}

}  // namespace
}  // namespace doclock::cli_test

#endif
