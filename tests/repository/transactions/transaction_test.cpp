#include <gmock/gmock.h>

#include <boost/asio/deferred.hpp>
#include <climits>
#include <thread>

#include "repository/support/harness.h"

namespace doclock {
namespace {

using ::testing::HasSubstr;

class TransactionTest : public RepositoryTest {
 protected:
  void SetUp() override {
    if (!store->traits().transactions) GTEST_SKIP() << "this store has no transactions";
    for (int number = 1; number <= 4; ++number) accounts.Insert(Account(number, 100));
    sagas.Insert(Saga{"42"});
  }

  int Balance(std::int64_t number) { return accounts.Find(number).value()->balance(); }
  bool IsAccountLocked(std::int64_t number) { return IsLocked(number, "accounts"); }
  /// The text of what Commit throws.
  static std::string TextOf(Transaction& transaction) {
    try {
      transaction.Commit();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  const LockingRepository<Account> accounts{manager, "accounts"};
  const LockingRepository<Order> orders{manager, "orders"};
  LockProvider names{manager, "names"};
};

TEST_P(TransactionTest, WritesAllOfSeveralCollections) {
  auto saga = sagas.Lock("42");
  auto from = accounts.Lock(1), to = accounts.Lock(2), closed = accounts.Lock(3);
  auto seen = accounts.Find(4).value();
  const LockingRepository<json> outbox(manager, "outbox");
  Transaction transaction(manager);
  transaction.Save(saga).Release(from).Release(to).Erase(closed).Save(accounts, seen);
  transaction.Insert(outbox, "message", json({{"text", "moved"}}))
      .Insert(orders, Order{"7", 30, {}});
  saga->step = "moved";
  from->Deposit(-30);
  to->Deposit(30);
  seen->Deposit(1);
  EXPECT_EQ(Balance(1), 100) << "nothing is written before Commit";
  transaction.Commit();
  EXPECT_EQ(Balance(1), 70);
  EXPECT_EQ(Balance(2), 130);
  EXPECT_EQ(Balance(4), 101);
  EXPECT_FALSE(accounts.Find(3));
  EXPECT_EQ(Stored("message", "outbox").value(), json({{"text", "moved"}}));
  EXPECT_EQ(orders.Find("7").value()->total, 30);
  EXPECT_EQ(Stored("42")->at("step"), "moved");
  EXPECT_FALSE(from.held());
  EXPECT_FALSE(closed.held());
  EXPECT_FALSE(IsAccountLocked(1));
  EXPECT_TRUE(saga.held()) << "it was saved";
  EXPECT_EQ(seen.version(), 2);
  accounts.Save(seen);
  saga.Release();
  EXPECT_THROW(from.Release(), std::logic_error);
}

TEST_P(TransactionTest, ALeaseThatIsOverSendsNothing) {
  auto from = accounts.Lock(1, {.ttl = 1h}), to = accounts.Lock(2, {.ttl = 1s, .renew = false});
  clock->Jump(2s);
  Transaction transaction(manager);
  transaction.Release(from).Release(to);
  store->Reset();
  EXPECT_EQ(CodeOf([&] { transaction.Commit(); }), Errc::kLost);
  EXPECT_EQ(store->Calls(), 0);
  EXPECT_TRUE(from.held());
}

TEST_P(TransactionTest, ThatIsDestroyedHasDoneNothing) {
  auto from = accounts.Lock(1), to = accounts.Lock(2);
  from->Deposit(-30);
  {
    Transaction transaction(manager);
    transaction.Release(from).Erase(to);
  }
  EXPECT_TRUE(from.held());
  EXPECT_TRUE(to.held());
  EXPECT_EQ(Balance(1), 100);
}

TEST_P(TransactionTest, WithoutDocumentsDoesNothing) {
  store->Reset();
  Transaction transaction(manager);
  transaction.Commit();
  EXPECT_THROW(transaction.Commit(), std::logic_error);
  Transaction later(manager);
  Get(later.CommitAsync());
  EXPECT_EQ(store->Calls(), 0);
}

TEST_P(TransactionTest, AHandleMayBeMovedOrDestroyedBeforeItIsWritten) {
  Transaction transaction(manager);
  {
    auto from = accounts.Lock(1);
    from->Deposit(-30);
    transaction.Release(from);
    const Locked<Account> moved = std::move(from);
  }
  clock->RunPending();
  EXPECT_TRUE(IsAccountLocked(1));
  auto to = accounts.Lock(2);
  to->Deposit(30);
  transaction.Release(std::move(to));
  EXPECT_FALSE(to.held());  // NOLINT(bugprone-use-after-move)
  transaction.Commit();
  EXPECT_EQ(Balance(1), 70);
  EXPECT_EQ(Balance(2), 130);
  EXPECT_FALSE(IsAccountLocked(2));
}

TEST_P(TransactionTest, TakesWhatLockAllReturned) {
  auto all = accounts.LockAll({1, 2, 3});
  for (auto& account : all) account->Deposit(1);
  Transaction(manager).Release(all).Commit();
  EXPECT_EQ(Balance(3), 101);
  EXPECT_FALSE(IsAccountLocked(3));
}

TEST_P(TransactionTest, ReleasesHandlesOfSeveralTypesTogether) {
  auto [saga, from, name] = LockAll({}, sagas.At("42"), accounts.At(1), names.At("month"));
  saga->step = "moved";
  from->Deposit(-30);
  Transaction(manager).Release(saga, from, name).Commit();
  EXPECT_EQ(Stored("42")->at("step"), "moved");
  EXPECT_EQ(Balance(1), 70);
  EXPECT_FALSE(saga.held() || name.held());
}

TEST_P(TransactionTest, TakesNoteOfAllOrNoneOfThem) {
  auto all = accounts.LockAll({1, 2, 3});
  Locked<Account> empty;
  Transaction transaction(manager);
  transaction.Release(all[2]);
  all[0]->Deposit(1);
  all[2]->Deposit(1);
  EXPECT_THROW(transaction.Release(all), std::invalid_argument) << "the third is there already";
  EXPECT_THROW(transaction.Release(all[0], empty), std::logic_error);
  transaction.Release(all[1]).Commit();
  EXPECT_EQ(Balance(3), 101);
  EXPECT_TRUE(all[0].held());
  EXPECT_EQ(Balance(1), 100);
}

TEST_P(TransactionTest, ThatIsRefusedNamesTheDocumentAndLeavesAllHeld) {
  auto from = accounts.Lock(1), to = accounts.Lock(2);
  auto seen = accounts.Find(4).value();
  Transaction transaction(manager);
  transaction.Release(from).Release(to).Save(accounts, seen);
  from->Deposit(-30);
  to->Deposit(30);
  accounts.Update(4, [](Account& account) { account.Deposit(5); });
  EXPECT_THROW(transaction.Commit(), ConflictException);
  const std::string text = TextOf(transaction);
  EXPECT_THAT(text, HasSubstr("document '4' of 'accounts'"));
  EXPECT_TRUE(from.held());
  EXPECT_TRUE(to.held());
  EXPECT_EQ(Balance(1), 100);
  EXPECT_EQ(Balance(2), 100);

  Transaction another(manager);
  another.Release(from).Release(to);
  another.Commit();
  EXPECT_EQ(Balance(1), 70);
}

TEST_P(TransactionTest, MayBeCommittedAgainOnceItIsMended) {
  const LockingRepository<Fragile> fragile(manager, "fragile");
  fragile.Insert(Fragile{"f"});
  auto broken = fragile.Lock("f");
  auto from = accounts.Lock(1);
  broken->broken = true;
  from->Deposit(-1);
  Transaction transaction(manager);
  transaction.Release(from).Release(broken);
  store->Reset();
  EXPECT_THROW(transaction.Commit(), std::runtime_error);
  EXPECT_THROW(transaction.CommitAsync(), std::runtime_error);
  EXPECT_EQ(store->Calls(), 0);
  broken->broken = false;
  transaction.Commit();
  EXPECT_EQ(Balance(1), 99);
}

TEST_P(TransactionTest, ALockThatIsLostRefusesAllAndOnlyThatOneIsDead) {
  auto from = accounts.Lock(1), to = accounts.Lock(2);
  from->Deposit(-30);
  to->Deposit(30);
  testing::BreakLock(*store, "accounts", 2);
  Transaction transaction(manager);
  transaction.Release(from).Release(to);
  EXPECT_EQ(CodeOf([&] { transaction.Commit(); }), Errc::kLost);
  EXPECT_TRUE(from.held());
  EXPECT_FALSE(to.held());
  EXPECT_TRUE(to.lost().stop_requested());
  EXPECT_EQ(Balance(1), 100);
  store->Reset();
  EXPECT_THAT(TextOf(transaction), HasSubstr("document '2' of 'accounts'"));
  EXPECT_EQ(store->Calls(), 0) << "it is known";
  from.Release();
}

TEST_P(TransactionTest, WhatIsNotOneOfItsDocumentsIsRefusedAtOnce) {
  auto from = accounts.Lock(1);
  LockManager other = AnotherManager();
  const LockingRepository<Account> of_other(other, "accounts");
  auto foreign = of_other.Lock(2);
  Transaction transaction(manager);
  EXPECT_THROW(transaction.Release(foreign), std::invalid_argument);
  EXPECT_THROW(transaction.Insert(of_other, Account(9, 1)), std::invalid_argument);
  transaction.Release(from);
  EXPECT_THROW(transaction.Erase(from), std::invalid_argument);
  EXPECT_THROW(transaction.Insert(accounts, Account(1, 1)), std::invalid_argument);
  Locked<Account> empty;
  EXPECT_THROW(transaction.Release(empty), std::logic_error);
  try {
    transaction.Release(foreign);
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("document '2' of 'accounts' is of another LockManager"));
  }
  transaction.Commit();
  EXPECT_THROW(transaction.Release(from), std::logic_error);
  Transaction moved = std::move(transaction);
  EXPECT_THROW(transaction.Commit(), std::logic_error);  // NOLINT(bugprone-use-after-move)
}

TEST_P(TransactionTest, IsNotLargerThanItMayBe) {
  Transaction many(manager);
  const LockingRepository<json> others(manager, "others");
  for (std::size_t i = 0; i < kMaxTransactionDocuments; ++i) {
    many.Insert(others, static_cast<std::int64_t>(i), json::object());
  }
  EXPECT_THROW(many.Insert(others, 5'000, json::object()), std::invalid_argument);
  many.Commit();
  EXPECT_EQ(others.Find(Filter()).size(), kMaxTransactionDocuments);

  Transaction large(manager);
  for (int i = 0; i < 5; ++i) {
    large.Insert(others, "large" + std::to_string(i), json({{"x", std::string(8'000'000, 'x')}}));
  }
  EXPECT_EQ(CodeOf([&] { large.Commit(); }), Errc::kRefused);
  EXPECT_FALSE(others.Find("large0"));
}

TEST_P(TransactionTest, AHandleThatWasUsedMeanwhileIsAMistake) {
  auto from = accounts.Lock(1), to = accounts.Lock(2);
  Transaction transaction(manager);
  transaction.Release(from).Release(to);
  to.Release();
  EXPECT_THROW(transaction.Commit(), std::logic_error);
  EXPECT_TRUE(from.held());
  from.Release();
}

TEST_P(TransactionTest, SharesAreRefusedByName) {
  auto share = names.Acquire("shared", {.mode = LockMode::kShared});
  Transaction transaction(manager);
  EXPECT_THROW(transaction.Keep(share), std::invalid_argument);
  EXPECT_THROW(transaction.Release(share), std::invalid_argument);
}

TEST_P(TransactionTest, ReleasesByValue) {
  orders.Insert(Order{"7", 1, {}});
  auto held = orders.Lock("7");
  Order carried = *held;
  held.Detach();
  auto from = accounts.Lock(1);
  carried.total = 2;
  Transaction(manager).ReleaseLock(orders, carried).Release(from).Commit();
  EXPECT_EQ(orders.Find("7").value()->total, 2);
  EXPECT_FALSE(IsLocked("7", "orders"));

  auto again = accounts.Lock(1);
  Transaction twice(manager);
  twice.Release(again).ReleaseLock(orders, carried);
  EXPECT_EQ(CodeOf([&] { twice.Commit(); }), Errc::kNotOwner);
  EXPECT_TRUE(again.held());
}

TEST_P(TransactionTest, IsCommittedAsynchronously) {
  auto from = accounts.Lock(1);
  std::future<void> done;
  {
    Transaction transaction(manager);
    auto to = accounts.Lock(2);
    from->Deposit(-30);
    to->Deposit(30);
    transaction.Release(from).Release(to);
    done = transaction.CommitAsync();
    EXPECT_THROW(transaction.Commit(), std::logic_error);
  }
  Get(std::move(done));
  EXPECT_EQ(Balance(1), 70);
  EXPECT_EQ(Balance(2), 130);
  EXPECT_FALSE(from.held());

  auto again = accounts.Lock(1);
  Transaction refused(manager);
  refused.Release(again).Insert(accounts, Account(2, 1));
  EXPECT_THROW(Get(refused.CommitAsync()), ConflictException);
  EXPECT_TRUE(again.held());
}

TEST_P(TransactionTest, IsNotUsedBehindCommitAsync) {
  Transaction transaction(manager);
  transaction.Insert(accounts, Account(8, 1));
  auto later = transaction.CommitAsync(boost::asio::deferred);
  transaction.Insert(accounts, Account(9, 1));
  std::exception_ptr thrown;
  try {
    std::move(later)([&](std::exception_ptr error) { thrown = std::move(error); });
    clock->RunPending();
    if (thrown) std::rethrow_exception(thrown);
    FAIL() << "nothing was thrown";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("used after CommitAsync"));
  }
  EXPECT_FALSE(accounts.Find(8));
  auto done = transaction.CommitAsync();
  EXPECT_THROW(transaction.Insert(accounts, Account(10, 1)), std::logic_error);
  EXPECT_THROW(transaction.CommitAsync(), std::logic_error);
  Get(std::move(done));
  EXPECT_TRUE(accounts.Find(8) && accounts.Find(9));
}

/// Counts what it is told.
class CountingObserver : public Observer {
 public:
  void OnReleased(const LockEvent&, std::chrono::nanoseconds) override { ++released; }
  void OnLost(const LockEvent&) override { ++lost; }
  void OnInDoubt(const LockEvent&) override { ++in_doubt; }
  int released = 0, lost = 0, in_doubt = 0;
};

TEST_P(TransactionTest, TheObserverIsToldWhatSingleVerbsTell) {
  const auto observer = std::make_shared<CountingObserver>();
  LockManager watched(store, {.observer = observer, .runtime = clock->runtime()});
  const LockingRepository<Account> repository(watched, "accounts");
  auto all = repository.LockAll({1, 2, 3});
  Transaction(watched).Release(all[0]).Erase(all[1]).Save(all[2]).Commit();
  clock->RunPending();
  EXPECT_EQ(observer->released, 2);

  auto again = repository.Lock(1);
  testing::BreakLock(*store, "accounts", 3);
  Transaction refused(watched);
  refused.Release(again).Release(all[2]);
  EXPECT_EQ(CodeOf([&] { refused.Commit(); }), Errc::kLost);
  clock->RunPending();
  EXPECT_EQ(observer->released, 2);
  EXPECT_EQ(observer->lost, 1);
  EXPECT_EQ(observer->in_doubt, 0);
}

/// What the store says is lost on the way, before or after the effect.
TEST_P(TransactionTest, DoubtIsSettledByALook) {
  const LockingRepository<json> outbox(manager, "outbox");
  int number = 0;
  for (const auto kind : {Fault::Kind::kLostBefore, Fault::Kind::kLostAfter, Fault::Kind::kThrow}) {
    for (const int struck : {1, 2}) {
      auto from = accounts.Lock(1), to = accounts.Lock(2);
      auto seen = accounts.Find(3).value();
      from->Deposit(-1);
      to->Deposit(1);
      seen->Deposit(1);
      const int before = Balance(1), third = Balance(3);
      Transaction transaction(manager);
      transaction.Insert(outbox, ++number, json::object());
      transaction.Release(from).Save(to).Save(accounts, seen);
      store->Inject({.kind = kind, .op = {}, .key = Key(std::int64_t{struck})});
      transaction.Commit();
      EXPECT_EQ(Balance(1), before - 1);
      EXPECT_EQ(Balance(3), third + 1);
      EXPECT_TRUE(outbox.Find(number));
      EXPECT_FALSE(from.held());
      EXPECT_TRUE(to.held());
      accounts.Save(seen);
      to.Release();
    }
  }
}

/// It may have been erased by another client, to whom the lock fell; nothing else was written then.
TEST_P(TransactionTest, AMissingDocumentProvesNothingOfTheOthers) {
  auto closed = accounts.Lock(1), to = accounts.Lock(2);
  to->Deposit(1);
  Transaction transaction(manager);
  transaction.Erase(closed).Release(to);
  ExpireLock(*store, "accounts", std::int64_t{1});
  accounts.Lock(1).Erase();
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite});
  EXPECT_EQ(CodeOf([&] { transaction.Commit(); }), Errc::kInDoubt);
  EXPECT_EQ(Balance(2), 100);
}

TEST_P(TransactionTest, InsertsAloneInDoubtAreNotSentAgain) {
  Transaction transaction(manager);
  transaction.Insert(accounts, Account(8, 1)).Insert(accounts, Account(9, 1));
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kSave});
  EXPECT_THAT(TextOf(transaction), HasSubstr("document '8' of 'accounts' and 1 more"));
  EXPECT_FALSE(accounts.Find(8));

  Transaction written(manager);
  written.Insert(accounts, Account(8, 1)).Insert(accounts, Account(9, 1));
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kSave});
  written.Commit();
  EXPECT_EQ(Balance(9), 1);
}

/// It is unmoved, whether the others were written or not.
TEST_P(TransactionTest, AnExpectedDocumentProvesNothingOfTheOthers) {
  for (const auto kind : {Fault::Kind::kLostBefore, Fault::Kind::kLostAfter}) {
    auto seen = accounts.Find(2).value();
    const int before = seen->balance();
    seen->Deposit(1);
    Transaction transaction(manager);
    transaction.Expect(accounts, accounts.Find(1).value()).Save(accounts, seen);
    store->Inject({.kind = kind, .op = OpKind::kSave});
    transaction.Commit();
    EXPECT_EQ(Balance(2), before + 1);
    EXPECT_EQ(Version(1, "accounts"), 1);
    accounts.Save(seen);
  }
}

TEST_P(TransactionTest, AnExpectationReadsItsSnapshotAtOnceAndNamesADocumentOnce) {
  Transaction transaction(manager);
  {
    const auto seen = accounts.Find(1).value();
    transaction.Expect(accounts, seen);
    EXPECT_THROW(transaction.Expect(accounts, seen), std::invalid_argument);
  }
  transaction.Insert(orders, Order{"7", 30, {}}).Commit();
  EXPECT_TRUE(orders.Find("7"));
  Transaction alone(manager);
  auto seen = accounts.Find(1).value();
  alone.Expect(accounts, seen);
  accounts.Save(seen);
  try {
    alone.Commit();
    FAIL() << "it has changed";
  } catch (const ConflictException& error) {
    EXPECT_EQ(error.document()->key, Key(std::int64_t{1}));
    EXPECT_EQ(error.expected(), 1);
    EXPECT_EQ(error.found(), 2);
  }
}

/// The first attempt may still be under way, and no later one can go through.
TEST_P(TransactionTest, ARefusalAfterDoubtIsNotAskedForAgain) {
  auto from = accounts.Lock(1);
  auto seen = accounts.Find(2).value(), other = accounts.Find(2).value();
  Transaction transaction(manager);
  transaction.Release(from).Save(accounts, seen);
  accounts.Save(other);
  store->Reset();
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite});
  EXPECT_EQ(CodeOf([&] { transaction.Commit(); }), Errc::kInDoubt);
  EXPECT_EQ(store->Count(OpKind::kSave), 2);
  EXPECT_THROW(transaction.Commit(), std::logic_error);
}

/// It may be the last copy of the manager, without which no lock is released.
TEST_P(TransactionTest, ThatIsAssignedToReleasesWhatItKeeps) {
  const auto make = [&] {
    const LockManager own(store, {.runtime = clock->runtime()});
    Transaction transaction(own);
    transaction.Release(LockingRepository<Account>(own, "accounts").Lock(1));
    return transaction;
  };
  Transaction transaction = make();
  clock->RunPending();
  EXPECT_TRUE(IsAccountLocked(1));
  transaction = Transaction(manager);
  clock->RunPending();
  EXPECT_FALSE(IsAccountLocked(1));
}

TEST_P(TransactionTest, AStoreThatIsAwayLeavesAllHeld) {
  auto from = accounts.Lock(1), to = accounts.Lock(2);
  Transaction transaction(manager);
  transaction.Release(from).Release(to);
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite, .times = INT_MAX});
  EXPECT_EQ(CodeOf([&] { transaction.Commit(); }), Errc::kUnavailable);
  EXPECT_EQ(TextOf(transaction),
            "the transaction could not be stored: the store could not be reached (injected)")
      << "no document is the reason";
  store->Heal();
  EXPECT_TRUE(from.held());
  EXPECT_TRUE(to.held());
  transaction.Commit();
}

DOCLOCK_FOR_ALL_STORES(TransactionTest);

class TransactionThreadsTest : public ThreadsTest {};

/// Threads move amounts between the same accounts, crosswise.
TEST_P(TransactionThreadsTest, OfManyThreadsKeepTheSum) {
  if (!store->traits().transactions) GTEST_SKIP() << "this store has no transactions";
  constexpr int kThreads = 4, kTransfers = 25, kAccounts = 5;
  const LockingRepository<Account> accounts(manager, "accounts");
  for (int i = 0; i < kAccounts; ++i) accounts.Insert(Account(i, 100));
  const auto work = [&](int number) {
    for (int done = 0; done < kTransfers; ++done) {
      const int from = (number + done) % kAccounts, to = (from + 1 + number) % kAccounts;
      if (from == to) continue;
      auto both = accounts.LockAll({from, to}, {.wait = kForever});
      both[0]->Deposit(-1);
      both[1]->Deposit(1);
      Transaction(manager).Release(both).Commit();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  int sum = 0;
  for (const auto& account : accounts.Find(Filter())) sum += account->balance();
  EXPECT_EQ(sum, 100 * kAccounts);
}

DOCLOCK_FOR_ALL_STORES(TransactionThreadsTest);

}  // namespace
}  // namespace doclock
