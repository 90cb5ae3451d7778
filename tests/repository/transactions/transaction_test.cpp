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
  EXPECT_THAT(ThrownBy<std::invalid_argument>([&] { transaction.Release(foreign); }).what(),
              HasSubstr("document '2' of 'accounts' is of another LockManager"));
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
  from.Discard();
}

TEST_P(TransactionTest, AHandleOfARefusedCommitStoresNothingAlone) {
  auto from = accounts.Lock(1), to = accounts.Lock(2), third = accounts.Lock(3);
  for (auto* const one : {&from, &to, &third}) (*one)->Deposit(-30);
  Transaction refused(manager);
  refused.Release(from).Save(to).Release(third).Insert(accounts, Account(1'000, 1));
  accounts.Insert(Account(1'000, 1));
  EXPECT_THROW(refused.Commit(), ConflictException);
  for (auto* const one : {&from, &to, &third}) {
    EXPECT_TRUE(one->held());
    EXPECT_THAT(ThrownBy<std::logic_error>([&] { one->Release(); }).what(), HasSubstr("Revert()"));
    EXPECT_THROW(one->Save(), std::logic_error);
    EXPECT_THROW(one->Erase(), std::logic_error);
    EXPECT_THROW(one->ReleaseAsync(), std::logic_error);
    EXPECT_THROW(one->SaveAsync(), std::logic_error);
    EXPECT_THROW(one->EraseAsync(), std::logic_error);
  }
  third.Discard();
  from.Revert();
  from->Deposit(1);
  from.Release();
  EXPECT_EQ(Balance(1), 101);
  Transaction(manager).Save(to).Commit();
  EXPECT_EQ(Balance(2), 70);
  to->Deposit(1);
  to.Release();
  EXPECT_EQ(Balance(2), 71);
  EXPECT_EQ(Balance(3), 100);
}

TEST_P(TransactionTest, AHandleOfARefusedCommitAsyncStoresNothingAlone) {
  auto from = accounts.Lock(1), to = accounts.Lock(2);
  auto saving = to.SaveAsync();
  from->Deposit(-30);
  Transaction transaction(manager);
  transaction.Release(from).Release(to);
  EXPECT_THROW(Get(transaction.CommitAsync()), std::logic_error);  // a verb of `to` is under way
  Get(std::move(saving));
  for (auto* const one : {&from, &to}) {
    EXPECT_THAT(ThrownBy<std::logic_error>([&] { one->Release(); }).what(), HasSubstr("Revert()"));
  }
  transaction.Commit();
  EXPECT_EQ(Balance(1), 70);
}

TEST_P(TransactionTest, TakesASnapshotOver) {
  Transaction transaction(manager);
  {
    auto account = accounts.Find(1).value();
    account->Deposit(5);
    transaction.Save(accounts, std::move(account));
    EXPECT_FALSE(account);  // NOLINT(bugprone-use-after-move)
  }
  transaction.Commit();
  EXPECT_EQ(Balance(1), 105);
  Transaction late(manager);
  late.Save(accounts, accounts.Find(1).value());
  accounts.Update(1, [](Account& account) { account.Deposit(1); });
  EXPECT_THROW(late.Commit(), ConflictException);
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
  auto named = accounts.Lock(1);
  transaction.Insert(accounts, Account(8, 1)).Save(named);
  auto later = transaction.CommitAsync(boost::asio::deferred);
  transaction.Insert(accounts, Account(9, 1));
  const auto error = ThrownBy<std::logic_error>([&] {
    std::exception_ptr thrown;
    std::move(later)([&](std::exception_ptr told) { thrown = std::move(told); });
    clock->RunPending();
    if (thrown) std::rethrow_exception(thrown);
  });
  EXPECT_THAT(error.what(), HasSubstr("used after CommitAsync"));
  EXPECT_THAT(ThrownBy<std::logic_error>([&] { named.Release(); }).what(), HasSubstr("Revert()"));
  EXPECT_FALSE(accounts.Find(8));
  auto done = transaction.CommitAsync();
  EXPECT_THROW(transaction.Insert(accounts, Account(10, 1)), std::logic_error);
  EXPECT_THROW(transaction.CommitAsync(), std::logic_error);
  Get(std::move(done));
  EXPECT_TRUE(accounts.Find(8) && accounts.Find(9));
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
