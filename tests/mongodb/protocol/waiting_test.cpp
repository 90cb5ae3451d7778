// Waiting for locks of other processes: one change stream per collection and process, and what
// happens when the stream is taken away.

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "process/child.h"

namespace doclock::mongo_test {
namespace {

using Things = LockingRepository<nlohmann::json>;
using Clock = std::chrono::steady_clock;

/// Longer than any test, so that no test sees a poll: only hints wake.
constexpr auto kNever = 1h;

class MongoWaiting : public ::testing::Test {
 protected:
  static Things OpenThings(const std::string& uri, std::chrono::milliseconds poll) {
    LockManager manager(OpenMongodbStore(uri), {.poll_min = poll, .poll_max = poll});
    return {std::move(manager), "things", {.ttl = kNever}};
  }

  /// The change streams on the collection, as the server knows them.
  struct Streams {
    int count = 0;
    std::int64_t cursor = 0;  ///< Of one of them.
  };
  Streams StreamsOf(const std::string& collection) {
    const std::string ns = database_.name() + "." + collection;
    mongodb::Doc what;
    what.Add("allUsers", true).Add("idleCursors", true);
    mongodb::Array stages;
    stages.Add(mongodb::Doc::Of("$currentOp", what));
    stages.Add(mongodb::Doc::Of("$match", mongodb::Doc::Of("ns", ns)));
    mongodb::Doc command;
    command.Add("aggregate", 1).Add("pipeline", stages).Add("cursor", mongodb::Doc());
    Streams streams;
    database_.server().Run("admin", command, [&](const bson_t& reply) {
      bson_iter_t iter, batch;
      if (!bson_iter_init(&iter, &reply) ||
          !bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) ||
          !bson_iter_recurse(&batch, &iter)) {
        return;
      }
      while (bson_iter_next(&iter)) {
        bson_t operation;
        if (mongodb::DocumentAt(iter, operation)) Count(operation, streams);
      }
    });
    return streams;
  }
  static void Count(const bson_t& operation, Streams& streams) {
    char* const json = bson_as_relaxed_extended_json(&operation, nullptr);
    const bool stream = std::string_view(json).find("$changeStream") != std::string_view::npos;
    bson_free(json);
    bson_iter_t iter, cursor;
    if (!stream || !bson_iter_init(&iter, &operation) ||
        !bson_iter_find_descendant(&iter, "cursor.cursorId", &cursor)) {
      return;
    }
    ++streams.count;
    streams.cursor = bson_iter_as_int64(&cursor);
  }
  void AwaitStream() {
    const auto end = Clock::now() + 5min;
    while (StreamsOf("things").count == 0) {
      ASSERT_LT(Clock::now(), end) << "no change stream was opened";
      std::this_thread::sleep_for(20ms);
    }
  }

  /// A waiter on a thread of its own; the future tells when it was granted.
  static std::future<Clock::time_point> WaitFor(const Things& things, const std::string& key) {
    return std::async(std::launch::async, [&things, key] {
      const auto lock = things.Lock(key, {.wait = 10min});
      return Clock::now();
    });
  }

  Database database_{SetUri()};
  Things clean_ = OpenThings(database_.uri(), 100ms);
};

TEST_F(MongoWaiting, ManyWaitersOfAProcessShareOneStreamPerCollection) {
  const Things things = OpenThings(database_.uri(), kNever);
  std::vector<Locked<nlohmann::json>> held;
  std::vector<std::future<Clock::time_point>> waiters;
  for (int key = 0; key < 4; ++key) {
    held.push_back(clean_.Lock({std::to_string(key), nlohmann::json::object()}));
    for (int i = 0; i < 4; ++i) waiters.push_back(WaitFor(things, std::to_string(key)));
  }
  AwaitStream();
  EXPECT_EQ(StreamsOf("things").count, 1);
  for (auto& lock : held) lock.Release();
  for (auto& waiter : waiters) {
    ASSERT_EQ(waiter.wait_for(5min), std::future_status::ready) << "a release woke no waiter";
  }
}

TEST_F(MongoWaiting, AReleaseInAnotherProcessWakesTheWaiter) {
  const Things things = OpenThings(database_.uri(), kNever);
  clean_.Insert("job", nlohmann::json::object());
  std::vector<double> milliseconds;
  for (int i = 0; i < 5; ++i) {
    test::Child holder({"hold", database_.uri(), "job", "3600000"});
    const auto line = holder.Line();
    ASSERT_TRUE(line && line->starts_with("held ")) << line.value_or("nothing");
    std::promise<std::int64_t> granted;
    std::thread waiter([&] {
      const auto lock = things.Lock("job", {.wait = 10min});
      granted.set_value(BootClock::now().time_since_epoch().count());
    });
    AwaitStream();
    holder.Say("release");
    const auto done = holder.Line();
    ASSERT_TRUE(done && done->starts_with("done ")) << done.value_or("nothing");
    auto when = granted.get_future();
    const auto ready = when.wait_for(5min);
    if (ready == std::future_status::ready) {
      milliseconds.push_back(static_cast<double>(when.get() - std::stoll(done->substr(5))) / 1e6);
    }
    waiter.join();
    ASSERT_EQ(ready, std::future_status::ready) << "the release was not seen";
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::cout << "[figures] from the release's send to the lock, ms: p50 " << milliseconds[2]
            << ", max " << milliseconds.back() << "\n";
}

TEST_F(MongoWaiting, AStreamThatIsTakenAwayIsReplaced) {
  // Else the driver would notice only after ten seconds that a primary it was told to be none is
  // one still.
  const Things things = OpenThings(database_.uri() + "&heartbeatFrequencyMS=500", kNever);
  const CommandFault none;
  const std::vector<CommandFault> faults = {
      none,  // its cursor is killed
      {.name = "lost history", .error_code = 286},
      {.name = "closed connection", .close = true},
      {.name = "stepped down", .error_code = 189},
      {.name = "not authorized any more", .error_code = 13},
  };
  for (const CommandFault& fault : faults) {
    SCOPED_TRACE(fault.name);
    auto held = clean_.Lock({"job", nlohmann::json::object()}, {.wait = 5min});
    auto waiter = WaitFor(things, "job");
    AwaitStream();
    const std::int64_t cursor = StreamsOf("things").cursor;
    if (fault.name.empty()) {
      mongodb::Doc kill;
      kill.Add("killCursors", "things");
      kill.Add("cursors", mongodb::Array().Add(cursor));
      database_.Run(kill);
    } else {
      FailPoint point(database_, fault, {.times = 1, .commands = {"getMore"}});
      // A stream asks for more five times a second, whatever happens.
      std::this_thread::sleep_for(2s);
      EXPECT_GE(point.End(), 1) << "the stream was not asked for more";
    }
    held.Release();
    EXPECT_EQ(waiter.wait_for(5min), std::future_status::ready) << "the release was not seen";
    waiter.get();
  }
}

TEST_F(MongoWaiting, WithoutTheRightToStreamItPolls) {
  const Things things = OpenThings(database_.uri(), 100ms);
  const CommandFault fault{.name = "Unauthorized", .error_code = 13};
  auto held = clean_.Lock({"job", nlohmann::json::object()});
  FailPoint point(database_, fault, {.commands = {"aggregate"}});
  auto waiter = WaitFor(things, "job");
  EXPECT_EQ(waiter.wait_for(2s), std::future_status::timeout);
  held.Release();
  ASSERT_EQ(waiter.wait_for(5min), std::future_status::ready) << "it does not poll";
  waiter.get();
  EXPECT_EQ(StreamsOf("things").count, 0);
  const std::int64_t attempts = point.End();
  EXPECT_GE(attempts, 1);
  EXPECT_LE(attempts, 20) << "it asks for a stream all the time";
}

TEST_F(MongoWaiting, OneOfManyWaitersAsksTheServer) {
  constexpr int kWaiters = 12;
  const Things things = OpenThings(database_.uri(), 200ms);
  auto held = clean_.Lock({"job", nlohmann::json::object()});
  std::vector<std::future<Clock::time_point>> waiters;
  for (int i = 0; i < kWaiters; ++i) waiters.push_back(WaitFor(things, "job"));
  AwaitStream();
  const Clock::time_point begin = Clock::now();
  database_.Run(mongodb::Doc::Of("profile", 2));
  std::this_thread::sleep_for(2s);
  database_.Run(mongodb::Doc::Of("profile", 0));
  const auto polls = (Clock::now() - begin) / 200ms;
  // Attempts at the lock: findAndModify, or a statement of an update.
  mongodb::Array kinds;
  mongodb::Doc by_command, by_update;
  by_command.Add("command.findAndModify", mongodb::Doc::Of("$exists", true));
  by_update.Add("op", "update");
  kinds.Add(by_command).Add(by_update);
  mongodb::Doc query;
  query.Add("ns", database_.name() + ".things").Add("$or", kinds);
  mongodb::Doc count;
  count.Add("count", "system.profile").Add("query", query);
  std::int64_t attempts = 0;
  database_.Run(count, [&](const bson_t& reply) {
    bson_iter_t n;
    if (bson_iter_init_find(&n, &reply, "n")) attempts = bson_iter_as_int64(&n);
  });
  // One waiter polls ten times in these two seconds; twelve would do so 120 times.
  EXPECT_GE(attempts, 1);
  EXPECT_LE(attempts, 2 * polls + 5);
  held.Release();
  for (auto& waiter : waiters) ASSERT_EQ(waiter.wait_for(5min), std::future_status::ready);
}

TEST(MongoWaitingStandalone, PollsWhereThereAreNoStreams) {
  Database database(StandaloneUri());
  const auto open = [&] {
    LockManager manager(OpenMongodbStore(database.uri()), {.poll_min = 50ms, .poll_max = 100ms});
    return Things{std::move(manager), "things", {.ttl = 30s}};
  };
  const Things mine = open(), theirs = open();
  auto held = theirs.Lock({"job", nlohmann::json::object()});
  const std::int64_t fence = held.fence();
  auto waiter = std::async(std::launch::async, [&] {
    const auto lock = mine.Lock("job", {.wait = 10min});
    return lock.fence();
  });
  EXPECT_EQ(waiter.wait_for(300ms), std::future_status::timeout);
  held.Release();
  ASSERT_EQ(waiter.wait_for(5min), std::future_status::ready);
  EXPECT_GT(waiter.get(), fence);
}

}  // namespace
}  // namespace doclock::mongo_test
