#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "repository/support/harness.h"

namespace doclock {
namespace {

namespace asio = boost::asio;
using asio::use_awaitable;

/// Real time and threads; one io_context on the test's own thread.
class CoroutineTest : public ThreadsTest {
 protected:
  template <class T>
  T Await(asio::awaitable<T> coroutine) {
    auto future = asio::co_spawn(io, std::move(coroutine), asio::use_future);
    io.run();
    io.restart();
    return future.get();
  }

  asio::io_context io;
  LockingRepository<Saga> sagas{manager, "sagas"};
};
DOCLOCK_FOR_ALL_STORES(CoroutineTest);

asio::awaitable<int> LockAndRelease(const LockingRepository<Saga>& sagas) {
  const Saga fresh{"a key longer than any small string buffer", "new"};
  auto saga =
      co_await sagas.LockAsync({"a key longer than any small string buffer", fresh},
                               {.ttl = 10s, .wait = 5s, .owner = "coroutine"}, use_awaitable);
  ++saga->attempts;
  co_await saga.SaveAsync(use_awaitable);
  ++saga->attempts;
  co_await saga.ReleaseAsync(use_awaitable);
  auto again = co_await sagas.LockAsync(std::string("a key longer than any small string buffer"),
                                        {.wait = 5s}, use_awaitable);
  co_await again.ReleaseAsync(use_awaitable);
  auto increment = [](Saga& s) { ++s.attempts; };
  co_await sagas.UpdateAsync(fresh.id, increment, use_awaitable);
  auto found = co_await sagas.FindAsync(fresh.id, use_awaitable);
  (*found)->attempts += 10;
  co_await sagas.SaveAsync(*found, use_awaitable);
  auto next = co_await sagas.LockNextAsync(Filter{}, {.wait = 1s}, use_awaitable);
  const int attempts = next->attempts;
  co_await next.DiscardAsync(use_awaitable);
  co_return attempts;
}

TEST_P(CoroutineTest, RunsThroughEveryVerb) { EXPECT_EQ(Await(LockAndRelease(sagas)), 13); }

asio::awaitable<int> LockWithATokenAlone(const LockingRepository<Saga>& sagas) {
  int granted = 0;
  const Saga fresh{"42", "new"};
  auto saga = co_await sagas.TryLockAsync(fresh, use_awaitable);
  if (saga) co_await saga->ReleaseAsync(use_awaitable);
  if (saga) ++granted;
  auto next = co_await sagas.LockNextAsync(Filter{}, use_awaitable);
  if (next.held()) ++granted;
  if (co_await sagas.TryLockNextAsync(Filter{}, use_awaitable)) ++granted;  // none is free
  const LockProvider names(sagas.manager(), "names");
  if (auto lock = co_await names.TryAcquireAsync("42", use_awaitable)) ++granted;
  co_return granted;
}

TEST_P(CoroutineTest, OptionsMayBeLeftOutBeforeTheToken) {
  EXPECT_EQ(Await(LockWithATokenAlone(sagas)), 3);
}

asio::awaitable<Errc> MeetALock(const LockingRepository<Saga>& sagas) {
  try {
    auto saga = co_await sagas.LockAsync("42", {}, use_awaitable);
  } catch (const LockException& error) {
    co_return error.errc();
  }
  co_return Errc{};
}

TEST_P(CoroutineTest, BusyIsThrownIntoTheCoroutine) {
  auto held = sagas.Lock({"42", Saga{"42"}});
  EXPECT_EQ(Await(MeetALock(sagas)), Errc::kBusy);
}

asio::awaitable<int> Increment(const LockingRepository<Saga>& sagas, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    auto saga = co_await sagas.LockAsync("42", {.wait = 10min}, use_awaitable);
    ++saga->attempts;
    co_await saga.ReleaseAsync(use_awaitable);
  }
  co_return rounds;
}

TEST_P(CoroutineTest, ManyCoroutinesOnOneThreadLoseNoIncrement) {
  constexpr int kCoroutines = 20, kRounds = 10;
  sagas.Insert(Saga{"42"});
  std::vector<std::future<int>> all;
  for (int i = 0; i < kCoroutines; ++i) {
    all.push_back(asio::co_spawn(io, Increment(sagas, kRounds), asio::use_future));
  }
  io.run();
  for (auto& one : all) EXPECT_EQ(one.get(), kRounds);
  EXPECT_EQ((*sagas.Find("42"))->attempts, kCoroutines * kRounds);
}

asio::awaitable<bool> GiveUp(const LockingRepository<Saga>& sagas) {
  using asio::experimental::awaitable_operators::operator||;
  // Not a lease, and nothing is asserted about it: any moment will do to give up at.
  asio::steady_timer timer(co_await asio::this_coro::executor, 20ms);
  auto first = co_await (sagas.LockAsync("42", {.ttl = 24h, .wait = kForever}, use_awaitable) ||
                         timer.async_wait(use_awaitable));
  co_return first.index() == 1;
}

TEST_P(CoroutineTest, GivingUpCancelsTheWait) {
  auto held = sagas.Lock({"42", Saga{"42"}});
  EXPECT_TRUE(Await(GiveUp(sagas)));
  held.Release();
  EXPECT_TRUE(sagas.TryLock("42", {.wait = 1min})) << "a lock left behind would last a day";
}

}  // namespace
}  // namespace doclock
