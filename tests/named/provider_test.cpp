#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stop_token>
#include <thread>

#include "doclock/lock_manager.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

using ::testing::HasSubstr;

template <class Name>
constexpr bool kNames = requires(const LockProvider& jobs, Name name) {
  jobs.Acquire(name);
  jobs.TryAcquire(name);
  jobs.AcquireAsync(name);
  jobs.TryAcquireAsync(name);
  jobs.With(name, [] {});
  jobs.Mutex(name);
  jobs.RecursiveMutex(name);
  jobs.SharedMutex(name);
  jobs.Admin().Break(name);
  jobs.Admin().RenewGroup(name);
  jobs.Admin().ReleaseGroup(name);
};
static_assert(kNames<const char*> && kNames<std::string> && kNames<std::string_view>);
template <class Name>
constexpr bool kIsName = std::is_convertible_v<Name, detail::NameArg>;
static_assert(kIsName<const char (&)[2]> && kIsName<const std::string&>);
static_assert(!kIsName<std::nullptr_t> && !kIsName<int> && !kIsName<Key>);
template <class Provider>
constexpr bool kTakesZero = requires(const Provider& jobs) { jobs.Acquire(0); } ||
                            requires(const Provider& jobs) { jobs.Acquire(nullptr); } ||
                            requires(const Provider& jobs) { jobs.TryAcquire(nullptr); } ||
                            requires(const Provider& jobs) { jobs.Mutex(0); } ||
                            requires(const Provider& jobs) { jobs.With(nullptr, [] {}); };
static_assert(!kTakesZero<LockProvider>);

class ProviderTest : public NamedTest {};
DOCLOCK_FOR_ALL_STORES(ProviderTest);

TEST_P(ProviderTest, TheDefaultCollectionIsItsOwn) {
  const LockProvider provider(manager);
  EXPECT_EQ(provider.collection(), "doclock_locks");
  auto lock = provider.Acquire("a");
  EXPECT_TRUE(store->Find("doclock_locks"));
  EXPECT_TRUE(jobs.TryAcquire("a")) << "another collection has other locks";
}

TEST_P(ProviderTest, NamesAreTakenAsTheyAre) {
  std::vector<HeldLock> all;
  for (const std::string& name : {std::string(" "), std::string("a\0b", 3), std::string("\0", 1),
                                  std::string("\xF0\x9F\x94\x92"), std::string("A"),
                                  std::string("a"), std::string(kMaxKeyBytes, 'x')}) {
    all.push_back(jobs.Acquire(name));
    EXPECT_EQ(all.back().name(), name);
  }
}

TEST_P(ProviderTest, RefusesNamesThatAreNone) {
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire(""); }), HasSubstr("name"));
  EXPECT_NE(RefusalOf([&] { (void)jobs.Acquire("\xff"); }), "");
  EXPECT_NE(RefusalOf([&] { (void)jobs.Acquire(std::string(kMaxKeyBytes + 1, 'x')); }), "");
  EXPECT_NE(RefusalOf([&] { (void)jobs.AcquireAll({"a", ""}); }), "");
  EXPECT_NE(RefusalOf([&] { (void)LockProvider(manager, ""); }), "");
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, AStopRequestEndsTheWait) {
  auto lock = jobs.Acquire("a");
  std::stop_source stop;
  const std::shared_ptr<Runtime> runtime = clock->runtime();
  runtime->Schedule(clock->Now() + 3s, [&] { stop.request_stop(); });
  EXPECT_EQ(CodeOf([&] { (void)jobs.Acquire("a", {.wait = kForever}, stop.get_token()); }),
            Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] { (void)jobs.TryAcquire("b", {}, stop.get_token()); }), Errc::kCancelled);
  lock.Release();
  clock->Advance(1min);
  EXPECT_TRUE(IsFree("a")) << "nothing is left behind";
}

TEST_P(ProviderTest, AsynchronousFormsSettleFutures) {
  auto lock = Get(jobs.AcquireAsync("a"));
  EXPECT_FALSE(Get(jobs.TryAcquireAsync("a")));
  Get(lock.RenewAsync(1min));
  EXPECT_GT(lock.Remaining(), 59s);
  Get(lock.ReleaseAsync());
  EXPECT_FALSE(lock.held());
  auto again = Get(jobs.TryAcquireAsync("a"));
  ASSERT_TRUE(again);
  Get(again->DetachAsync());
  EXPECT_FALSE(again->held());
  EXPECT_THROW((void)again->ReleaseAsync(), std::logic_error);
  EXPECT_FALSE(Get(jobs.TryAcquireAllAsync({"a", "b"})));
  EXPECT_EQ(Get(jobs.AcquireAllAsync({"b", "c"}, {.wait = 6s})).size(), 2U);
}

TEST_P(ProviderTest, CoroutinesWaitWithoutAThread) {
  boost::asio::io_context context;
  auto lock = jobs.Acquire("a");
  bool done = false;
  boost::asio::co_spawn(
      context,
      [&]() -> boost::asio::awaitable<void> {
        HeldLock mine = co_await jobs.AcquireAsync("a", {.wait = 1min}, boost::asio::use_awaitable);
        co_await mine.ReleaseAsync(boost::asio::use_awaitable);
        done = true;
      },
      boost::asio::detached);
  context.poll();
  EXPECT_FALSE(done);
  lock.Release();
  clock->RunPending();
  context.restart();
  while (!done) {
    context.run_one_for(10ms);
    context.restart();
    clock->RunPending();
  }
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, WithHoldsTheLockWhileTheFunctionRuns) {
  EXPECT_EQ(jobs.With("a", [&] { return IsFree("a") ? 1 : 2; }), 2);
  jobs.With("a", [&](HeldLock& lock) { EXPECT_TRUE(lock.held()); });
  EXPECT_THROW(jobs.With("a", [] { throw std::runtime_error("x"); }), std::runtime_error);
  clock->RunPending();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(ProviderTest, AcquireAllGivesBackTheLastFirst) {
  auto busy = LockProvider(AnotherManager(), "jobs").Acquire("d");
  std::vector<Key> released;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    for (const StoreOp* op : ops) {
      if (op->kind == OpKind::kWrite) released.push_back(*op->key);
    }
  });
  EXPECT_FALSE(jobs.TryAcquireAll({"a", "b", "c", "d"}));
  clock->RunPending();
  store->OnExecute({});
  EXPECT_THAT(released, ::testing::ElementsAre(Key("c"), Key("b"), Key("a")));
}

}  // namespace
}  // namespace doclock::named
