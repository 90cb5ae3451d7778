// A server that is cut off: what each operation tells, that it names the server and no secret, and
// that no call goes on after its time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/uuid/uuid_io.hpp>
#include <thread>

#include "cli/mongodb/relay.h"
#include "doclock/doclock.h"
#include "mongodb/support/fake_server.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/store_operations.h"

namespace doclock::mongo_test {
namespace {

using cli_test::Relay;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCanary = "Canary-5e2d";

/// A way to be cut off.
struct Cut {
  std::string name;
  void (Relay::*cut)() noexcept;
};

void PrintTo(const Cut& cut, std::ostream* out) { *out << cut.name; }

int PortOf(const std::string& uri) { return std::stoi(uri.substr(uri.find(':', 10) + 1)); }

class MongoOutage : public ::testing::TestWithParam<Cut> {
 protected:
  MongoOutage() {
    mongodb::Doc role, user;
    role.Add("role", "readWrite").Add("db", database_.name());
    user.Add("createUser", "zaphod").Add("pwd", kCanary);
    user.Add("roles", mongodb::Array().Add(role));
    database_.Run(user);
  }
  void TearDown() override { database_.Run(mongodb::Doc::Of("dropUser", "zaphod")); }

  [[nodiscard]] std::string server() const { return "127.0.0.1:" + std::to_string(relay_.port()); }
  [[nodiscard]] std::string ThroughRelay() const {
    return "mongodb://zaphod:" + std::string(kCanary) + "@" + server() + "/" + database_.name() +
           "?directConnection=true";
  }
  void CutOff() { (relay_.*GetParam().cut)(); }

  Database database_{StandaloneUri()};
  Relay relay_{PortOf(database_.uri())};
};

TEST_P(MongoOutage, EveryOperationTellsItAndNamesTheServer) {
  Client good(OpenMongodbStore(database_.uri()));
  Client cut_off(
      OpenMongodbStore(ThroughRelay(), {.socket_timeout = 250ms, .server_selection_timeout = 2s}),
      "things", 150ms);
  const std::vector<Operation> operations = Operations();
  std::vector<Key> keys;
  for (const Operation& operation : operations) keys.emplace_back(operation.name);
  std::vector<Scene> scenes;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    operations[i].prepare(scenes.emplace_back(Scene{good, cut_off, keys[i]}));
  }
  CutOff();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    SCOPED_TRACE(operations[i].name);
    const Told told = operations[i].run(scenes[i]);
    if (told.status == OpStatus::kInDoubt) {
      EXPECT_TRUE(operations[i].writes) << told.why;
    } else {
      EXPECT_EQ(told.status, OpStatus::kFailed) << told.why;
      EXPECT_EQ(told.code, Errc::kUnavailable) << told.why;
    }
    EXPECT_THAT(told.why, HasSubstr(server()));
    EXPECT_THAT(told.why, Not(HasSubstr("Canary")));
    EXPECT_THAT(told.why, Not(HasSubstr("zaphod")));
    EXPECT_THAT(told.why, Not(HasSubstr("\"n\"")));
    EXPECT_THAT(told.why, Not(HasSubstr(boost::uuids::to_string(scenes[i].id))));
  }
}

/// A query may last for hours, if there is so much to show.
TEST_P(MongoOutage, AQueryWaitsForAPrimaryAsLongAsOtherCallsDo) {
  Client cut_off(
      OpenMongodbStore(ThroughRelay(), {.socket_timeout = 250ms, .server_selection_timeout = 2s}));
  CutOff();
  const auto ask = [&] {
    cut_off.store().Query(
        cut_off.collection(), Filter(), [](QueryRow&&) { return true; }, 24h);
  };
  EXPECT_THROW(ask(), StoreException);
}

TEST_P(MongoOutage, AWaitIsNotToldThatTheLockIsHeld) {
  LockManager manager(OpenMongodbStore(ThroughRelay(), {.socket_timeout = 200ms}),
                      {.call_budget = 200ms});
  const LockingRepository<nlohmann::json> things(manager, "things",
                                                 {.update_retries = 0, .update_wait = 500ms});
  things.Insert("a", {{"n", 1}});
  CutOff();
  const LockOptions options{.wait = 500ms};
  const std::vector<std::function<void()>> waits{
      [&] { (void)things.TryLock("a", options); },
      [&] { (void)things.TryLockAsync("a", options).get(); },
      [&] { things.Update("a", [](nlohmann::json&) {}); },
      [&] { (void)LockProvider(manager, "jobs").Mutex("m").try_lock_for(500ms); },
  };
  for (std::size_t i = 0; i < waits.size(); ++i) {
    SCOPED_TRACE(i);
    const Told told = Tell(waits[i]);
    EXPECT_TRUE(told.status == OpStatus::kInDoubt || told.code == Errc::kUnavailable) << told.why;
    EXPECT_NE(told.status, OpStatus::kDone);
    EXPECT_THAT(told.why, Not(HasSubstr("Canary")));
  }
}

INSTANTIATE_TEST_SUITE_P(Cuts, MongoOutage,
                         ::testing::Values(Cut{"Refuses", &Relay::Refuse},
                                           Cut{"SaysNothing", &Relay::Unplug},
                                           Cut{"HangsUp", &Relay::Reset}),
                         [](const auto& tested) { return tested.param.name; });

/// A server of the newest kind, whose answers to findAndModify take this long.
FakeServer::Answer SlowServer(std::chrono::milliseconds delay, std::atomic<int>& looks) {
  return [delay, &looks](std::string_view command) {
    mongodb::Doc answer;
    answer.Add("ok", 1.0);
    if (command == "findAndModify") {
      std::this_thread::sleep_for(delay);
      answer.AddNull("value");
    } else if (command == "find" || command == "aggregate") {
      if (command == "find") ++looks;
      mongodb::Doc cursor;
      cursor.Add("firstBatch", mongodb::Array()).Add("id", std::int64_t{0});
      answer.Add("cursor", cursor.Add("ns", "test.things"));
    } else {
      answer.Add("helloOk", true).Add("ismaster", true).Add("isWritablePrimary", true);
      answer.Add("minWireVersion", 0).Add("maxWireVersion", 17);
      answer.Add("maxBsonObjectSize", 16 << 20).Add("maxMessageSizeBytes", 48'000'000);
      answer.Add("maxWriteBatchSize", 100'000);
    }
    return answer;
  };
}

TEST(MongoBudget, AfterTheTimeOfACallNothingIsSent) {
  std::atomic<int> looks = 0;
  const FakeServer server(SlowServer(1900ms, looks));
  Client things(OpenMongodbStore(server.uri(), {.socket_timeout = 2s}), "things", 1700ms);
  looks = 0;  // opening the collection looks at it
  const Key key("a");
  const AcquireOp op = things.Acquire(key, NewUuid());
  EXPECT_TRUE(op.status == OpStatus::kFailed || op.status == OpStatus::kInDoubt) << Why(op);
  EXPECT_EQ(looks, 0) << "it went on looking for the holder";
}

TEST(MongoPool, OfFewConnectionsKeepsSomeFromTheStreams) {
  Database database(SetUri());
  for (const int size : {1, 4}) {
    SCOPED_TRACE(size);
    const std::string uri = WithSocketTimeout(SetUri()) + "&maxPoolSize=" + std::to_string(size);
    const MonitoredPool pool(uri, database.name());
    const auto store = OpenMongodbStore(pool.get(), database.name());
    std::vector<std::shared_ptr<Collection>> collections;
    std::vector<std::unique_ptr<Subscription>> streams;
    for (const char* name : {"a", "b", "c"}) {
      collections.push_back(store->Open(name, {}, kTtl));
      streams.push_back(store->Watch(*collections.back(), [](const LockHint&) {}));
    }
    EXPECT_EQ(streams[0] != nullptr, size == 4);
    EXPECT_EQ(streams[1] != nullptr, size == 4);
    EXPECT_EQ(streams[2], nullptr);
    Client client(store, "a");
    const Key key("k");
    const AcquireOp op = client.Acquire(key, NewUuid(), Counted(1));
    EXPECT_TRUE(op.status == OpStatus::kDone || op.status == OpStatus::kBusy) << Why(op);
    if (size == 1) continue;
    streams[0] = nullptr;
    EXPECT_NE(store->Watch(*collections[2], [](const LockHint&) {}), nullptr);
  }
}

TEST(MongoFork, ASearchInTheChildIsNotInDoubt) {
  Database database(SetUri());
  const auto store = OpenMongodbStore(database.uri());
  const auto collection = store->Open("things", {}, kTtl);
  Key key("none");
  AcquireOp op(*collection, key);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      store->AcquireNext(Filter{}, op, key, 1s);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(op.status == OpStatus::kFailed && op.detail->code == Errc::kForked ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace doclock::mongo_test
