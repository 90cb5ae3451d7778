#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "doclock/messages.h"
#include "process/eventually.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

using test::Eventually;

class DispatcherTest : public ThreadsTest {
 protected:
  void Add(const OutboxMessage& message) {
    Transaction transaction(manager);
    outbox.Add(transaction, message);
    transaction.Commit();
  }
  bool IsAllSent() { return outbox.Status().pending == 0; }

  Outbox outbox{manager};
};

TEST_P(DispatcherTest, SeveralOfThemKeepEachOrder) {
  std::mutex mutex;
  std::map<std::string, std::vector<std::int64_t>> sent;
  const auto send = [&](const OutboxMessage& message) {
    const std::scoped_lock lock(mutex);
    sent[message.order].push_back(message.position);
  };
  LockManager other(store);
  const Dispatcher here = outbox.Dispatch(send, {.threads = 2});
  const Dispatcher there = Outbox(other).Dispatch(send, {.threads = 2});
  std::map<std::string, std::vector<std::int64_t>> added;
  for (std::int64_t position = 1; position <= 15; ++position) {
    for (const char* const order : {"a", "b", "c"}) {
      Add({.order = order, .position = position});
      added[order].push_back(position);
    }
  }
  EXPECT_TRUE(Eventually([&] { return IsAllSent(); }));
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(sent, added);
}

TEST_P(DispatcherTest, AStopLetsTheMessageUnderWayFinish) {
  std::atomic<bool> began = false, ended = false;
  Dispatcher dispatcher = outbox.Dispatch([&](const OutboxMessage&) {
    began = true;
    std::this_thread::sleep_for(20ms);
    ended = true;
  });
  Add({.id = "m"});
  ASSERT_TRUE(Eventually([&] { return began.load(); }));
  dispatcher.Stop();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(IsAllSent());
  Add({.id = "after"});
  dispatcher.Stop();
  EXPECT_FALSE(IsAllSent());
}

TEST_P(DispatcherTest, DestroyedWhileAllItsThreadsSendItSendsNothingMore) {
  std::atomic<int> sent = 0;
  std::atomic<bool> ending = false;
  std::optional dispatcher = outbox.Dispatch(
      [&](const OutboxMessage&) {
        ++sent;
        ending.wait(false);
        std::this_thread::sleep_for(50ms);  // the destructor has begun by then
      },
      {.threads = 4});
  for (int i = 0; i < 12; ++i) Add({});
  ASSERT_TRUE(Eventually([&] { return sent == 4; }));
  ending = true;
  ending.notify_all();
  dispatcher.reset();
  EXPECT_EQ(sent, 4);
}

TEST_P(DispatcherTest, EndsIfTheManagerIsClosed) {
  std::atomic<int> errors = 0;
  std::atomic<bool> failed = false;
  std::promise<void> end;
  DispatchOptions options{.retry_min = 1h, .retry_max = 1h};
  options.on_failure = [&](auto&, auto&) {
    end.set_value_at_thread_exit();
    failed = true;
  };
  options.on_error = [&](auto&) { ++errors; };
  Dispatcher dispatcher =
      outbox.Dispatch([](const OutboxMessage&) { throw std::runtime_error("no route"); }, options);
  Add({});
  ASSERT_TRUE(Eventually([&] { return failed.load(); }));
  manager.Close();
  EXPECT_EQ(end.get_future().wait_for(5min), std::future_status::ready);
  Dispatcher moved = std::move(dispatcher);
  moved.Stop();
  EXPECT_EQ(errors, 0);
}

DOCLOCK_FOR_ALL_STORES(DispatcherTest);

}  // namespace
}  // namespace doclock
