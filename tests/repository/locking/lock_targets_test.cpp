/// LockAll over several repositories, and how long it keeps what it has while one is not available.

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>

#include "repository/support/harness.h"

namespace doclock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LockTargetsTest : public RepositoryTest {
 protected:
  void SetUp() override {
    store->DropHints(true);  // SQLite's come in real time
    for (int number = 1; number <= 3; ++number) accounts.Insert(Account(number, 100));
    sagas.Insert(Saga{"42"});
  }
  bool IsAccountLocked(std::int64_t number) { return IsLocked(number, "accounts"); }
  const LockingRepository<Account> accounts{manager, "accounts"};
  const LockProvider names{manager, "names"};
  const LockingRepository<Account> others{AnotherManager(), "accounts"};
};
DOCLOCK_FOR_ALL_STORES(LockTargetsTest);

TEST_P(LockTargetsTest, LocksDocumentsOfSeveralRepositoriesAndNames) {
  auto [saga, to, from, name] =
      LockAll({.wait = 5s}, sagas.At("42"), accounts.At(2), accounts.At(1), names.At("month"));
  static_assert(std::same_as<decltype(name), HeldLock>);
  EXPECT_EQ(saga->id, "42");
  EXPECT_EQ(to->number(), 2);
  EXPECT_EQ(from->number(), 1);
  EXPECT_EQ(name.name(), "month");
  EXPECT_TRUE(IsLocked("42") && IsAccountLocked(1) && IsAccountLocked(2));
  saga->step = "done";
  from->Deposit(-30);
  to->Deposit(30);
  for (Locked<Account>* account : {&from, &to}) account->Release();
  saga.Release();
  name.Release();
  EXPECT_EQ(Stored("42")->at("step"), "done");
  EXPECT_EQ(accounts.Find(2).value()->balance(), 130);
}

TEST_P(LockTargetsTest, TakesThemInOneOrderWhateverTheArgumentsAre) {
  std::vector<std::string> taken;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    for (const StoreOp* op : ops) taken.push_back(op->collection->name() + op->key->ToString());
  });
  auto all = LockAll({}, sagas.At("42"), names.At("a"), accounts.At(2), accounts.At(1));
  store->OnExecute({});
  EXPECT_THAT(taken, ElementsAre("accounts1", "accounts2", "namesa", "sagas42"));
}

TEST_P(LockTargetsTest, EachHasTheLeaseOfItsRepository) {
  const LockingRepository<Saga> quick(manager, "quick", {.ttl = 5s});
  auto [saga, account] = LockAll({.renew = false}, quick.At(Saga{"1"}), accounts.At(1));
  EXPECT_LE(saga.Remaining(), 5s);
  EXPECT_GT(account.Remaining(), 20s);
}

TEST_P(LockTargetsTest, RefusesADocumentNamedTwiceAndAnotherManagerBeforeAnythingIsSent) {
  const LockingRepository<json> same(manager, "accounts");
  store->Reset();
  const auto twice = ThrownBy<std::invalid_argument>(
      [&] { (void)LockAll({}, accounts.At(1), sagas.At("42"), same.At(1)); });
  EXPECT_THAT(twice.what(), HasSubstr("document '1' of 'accounts' is to be locked twice"));
  EXPECT_THROW((void)LockAllAsync({}, accounts.At(1), same.At(1)), std::invalid_argument);
  const auto other =
      ThrownBy<std::invalid_argument>([&] { (void)LockAll({}, sagas.At("42"), others.At(1)); });
  EXPECT_THAT(other.what(), HasSubstr("'accounts' is of another LockManager than 'sagas'"));
  EXPECT_EQ(store->Calls(), 0);
}

TEST_P(LockTargetsTest, IsAllOrNothingInEveryForm) {
  auto busy = others.Lock(2);
  const auto error = ThrownBy<LockException>(
      [&] { (void)LockAll({}, sagas.At("42"), accounts.At(1), accounts.At(2)); });
  EXPECT_THAT(error.what(), HasSubstr("'2' of 'accounts'"));
  EXPECT_FALSE(TryLockAll({}, accounts.At(1), accounts.At(2)));
  EXPECT_FALSE(Get(TryLockAllAsync({}, accounts.At(1), accounts.At(2))));
  EXPECT_THROW((void)LockAll({}, accounts.At(1), sagas.At("missing")), NotFoundException);
  clock->RunPending();
  EXPECT_FALSE(IsAccountLocked(1));
  busy.Release();
  EXPECT_TRUE(TryLockAll({}, accounts.At(1), accounts.At(2)));
  clock->RunPending();
  EXPECT_TRUE(Get(TryLockAllAsync({}, accounts.At(1), accounts.At(2))));
}

TEST_P(LockTargetsTest, AStopTokenAndCancellationEndTheWait) {
  auto busy = others.Lock(2);
  std::stop_source stop;
  const std::shared_ptr<Runtime> runtime = clock->runtime();
  runtime->Schedule(clock->Now() + 3s, [&] { stop.request_stop(); });
  EXPECT_EQ(CodeOf([&] {
              (void)TryLockAll({.wait = kForever}, stop.get_token(), accounts.At(1),
                               accounts.At(2));
            }),
            Errc::kCancelled);
  boost::asio::cancellation_signal signal;
  std::optional<Errc> code;
  using Both = std::tuple<Locked<Account>, Locked<Account>>;
  LockAllAsync({.wait = kForever},
               boost::asio::bind_cancellation_slot(signal.slot(),
                                                   [&](const std::exception_ptr& error, Both) {
                                                     code = CodeOf([&] {
                                                       if (error) std::rethrow_exception(error);
                                                     });
                                                   }),
               accounts.At(1), accounts.At(2));
  clock->Advance(5s);
  signal.emit(boost::asio::cancellation_type::terminal);
  clock->RunPending();
  EXPECT_EQ(code, Errc::kCancelled);
}

TEST_P(LockTargetsTest, OneDeadHolderDoesNotStopThoseWhoWantTheOthers) {
  auto dead = others.Lock(2);
  auto both = LockAllAsync({.wait = kForever}, accounts.At(1), accounts.At(2));
  clock->Advance(50ms);
  EXPECT_TRUE(IsAccountLocked(1));
  clock->Advance(100ms);
  EXPECT_FALSE(IsAccountLocked(1)) << "kept for hold_while_waiting at most";
  clock->Advance(1min);
  { auto free = others.Lock(1); }
  dead.Release();
  auto [first, second] = Get(std::move(both));
  EXPECT_EQ(first->number(), 1);
  EXPECT_TRUE(first.held() && second.held());
}

TEST_P(LockTargetsTest, WhoeverHasWaitedAloneDoesNotWaitForWhatComesBefore) {
  auto second = others.Lock(2);
  auto both = LockAllAsync({.wait = kForever}, accounts.At(1), accounts.At(2), accounts.At(3));
  clock->Advance(1s);
  auto first = others.Lock(1);
  second.Release();
  clock->Advance(5s);
  EXPECT_FALSE(IsAccountLocked(2)) << "given back, because the first is not free";
  auto third = others.Lock(3);
  first.Release();
  for (int i = 0; i < 250 && !IsAccountLocked(2); ++i) clock->Advance(20ms);
  clock->Advance(150ms);
  EXPECT_TRUE(IsAccountLocked(1) && IsAccountLocked(2)) << "kept for twice as long now";
  clock->Advance(100ms);
  EXPECT_FALSE(IsAccountLocked(1) || IsAccountLocked(2));
  third.Release();
  EXPECT_EQ(std::get<2>(Get(std::move(both)))->number(), 3);
}

TEST_P(LockTargetsTest, KeepsThemIfItIsToldSoAndIfNoOtherClientCouldTakeThem) {
  auto dead = others.Lock(2);
  for (const LockOptions& options : {LockOptions{.wait = 1min, .hold_while_waiting = kForever},
                                     LockOptions{.wait = 1min, .min_hold = 1s}}) {
    auto both = LockAllAsync(options, accounts.At(1), accounts.At(2));
    clock->Advance(50s);
    EXPECT_TRUE(IsAccountLocked(1));
    clock->Advance(20s);
    EXPECT_EQ(CodeOf([&] { both.get(); }), Errc::kTimedOut);
    EXPECT_FALSE(IsAccountLocked(1));
  }
}

TEST_P(LockTargetsTest, OneThatItCreatedCountsAsCreatedAlthoughItWasGivenBack) {
  auto dead = others.Lock(2);
  auto all = LockAllAsync({.wait = kForever}, accounts.At(Account(0, 5)), accounts.At(2));
  clock->Advance(1s);
  dead.Release();
  auto [created, found] = Get(std::move(all));
  EXPECT_TRUE(created.created());
  EXPECT_FALSE(found.created());
  EXPECT_EQ(created->balance(), 5);
}

TEST_P(LockTargetsTest, AnUnreadableDocumentReleasesTheOthers) {
  Put("bad", {{"attempts", "many"}});
  EXPECT_THROW((void)LockAll({}, sagas.At("bad"), accounts.At(1)), DocumentException);
  clock->RunPending();
  EXPECT_FALSE(IsAccountLocked(1) || IsLocked("bad"));
}

TEST_P(LockTargetsTest, AFailureOfTheStoreReleasesTheOthers) {
  for (const Fault::Kind kind : {Fault::Kind::kErrorBefore, Fault::Kind::kThrow}) {
    store->Inject({.kind = kind, .op = OpKind::kAcquire, .key = Key("42"), .times = INT_MAX});
    EXPECT_THROW((void)LockAll({}, accounts.At(1), sagas.At("42")), std::exception);
    store->Heal();
    clock->RunPending();
    EXPECT_FALSE(IsAccountLocked(1));
  }
}

class LockTargetsThreadsTest : public ThreadsTest {};
DOCLOCK_FOR_ALL_STORES(LockTargetsThreadsTest);

TEST_P(LockTargetsThreadsTest, CoroutinesNameTheirLocksInPlace) {
  const LockingRepository<Saga> sagas(manager, "sagas");
  const LockProvider names(manager);
  boost::asio::io_context io;
  auto future = boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<std::string> {
        const Saga saga{"a key longer than any small string buffer", "new"};
        auto [locked, name] = co_await LockAllAsync(
            {.wait = 5s, .owner = "coroutine"}, boost::asio::use_awaitable, sagas.At(saga),
            names.At("a name longer than any small string buffer"));
        co_await name.ReleaseAsync(boost::asio::use_awaitable);
        co_return locked->step;
      },
      boost::asio::use_future);
  io.run();
  EXPECT_EQ(future.get(), "new");
}

TEST_P(LockTargetsThreadsTest, CallersThatGiveUpWhatTheyHoldNeverStopEachOther) {
  constexpr int kThreads = 4, kRounds = 15;
  const LockingRepository<Saga> sagas(manager, "sagas");
  for (const char* key : {"a", "b", "c"}) sagas.Insert(Saga{key});
  const LockOptions options{.wait = kForever, .hold_while_waiting = 1ms};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const std::array<const char*, 3> keys{"a", "b", "c"};
        for (int i = 0; i < kRounds; ++i) {
          auto [one, two] =
              LockAll(options, sagas.At(keys[(t + i) % 3]), sagas.At(keys[(t + i + 1) % 3]));
          ++one->attempts;
          ++two->attempts;
          std::this_thread::sleep_for(1ms);  // others meet the locks
          one.Release();
          two.Release();
        }
      });
    }
  }
  int sum = 0;
  for (const char* key : {"a", "b", "c"}) sum += (*sagas.Find(key))->attempts;
  EXPECT_EQ(sum, 2 * kThreads * kRounds);
}

}  // namespace
}  // namespace doclock
