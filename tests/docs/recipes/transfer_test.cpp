// The recipe for a message that changes several documents (docs/how-to/message-consumers.md).

#include <gtest/gtest.h>

#include "doclock/testing/intervene.h"
#include "docs/recipes/bank.h"
#include "docs/recipes/pause.h"
#include "repository/support/stores.h"

namespace {

class TransferRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  /// Ends the leases of a worker that stands still.
  static void EndLeases(doclock::Store& store) {
    for (const auto& [collection, key] :
         {std::pair{"transfers", "t"}, std::pair{"accounts", "a"}, std::pair{"accounts", "b"}}) {
      try {
        doclock::testing::ExpireLock(store, collection, doclock::Key(key));
      } catch (const doclock::Error&) {  // it holds no lock there yet
      }
    }
  }
  static void ExpectMovedOnce(const Bank& bank) {
    EXPECT_EQ(bank.Balance("a"), 90);
    EXPECT_EQ(bank.Balance("b"), 110);
  }
};

TEST_P(TransferRecipe, AWorkerThatIsPausedBeforeAnyOfItsCallsMovesNothingTwice) {
  bool paused = true;
  int calls = 0;
  for (int call = 1; paused; ++call) {
    SCOPED_TRACE("paused before its call " + std::to_string(call));
    const auto store = GetParam().open(nullptr);
    const Bank other(store);
    other.Open();
    paused = false;
    const Bank worker(doclock::test::PausedAt(store, call, [&] {
      paused = true;
      EndLeases(*store);
      other.MoveTen();
      ExpectMovedOnce(other);  // as it stays if the first worker is dead
      other.MoveOthers(1);
    }));
    try {
      worker.MoveTen();
    } catch (const doclock::LockException& e) {
      EXPECT_EQ(e.errc(), doclock::Errc::kLost) << e.what();
    }
    ExpectMovedOnce(other);
    other.MoveOthers(2);
    other.MoveTen();  // the message is delivered again
    ExpectMovedOnce(other);
    calls = call;
  }
  EXPECT_GT(calls, 6);  // locks, the second look, and three writes
}

TEST_P(TransferRecipe, AnAccountForgetsFinishedTransfersAndNoOthers) {
  const Bank bank(GetParam().open(nullptr));
  bank.Open();
  for (int i = 0; i < 20; ++i) bank.MoveOthers(i);
  EXPECT_EQ(bank.accounts.Find("a").value()->applied.size(), 1U);
  bank.accounts.Update("a",
                       [](Account& a) { a.applied.emplace_back("t"); });  // died after the debit
  bank.MoveOthers(20);
  EXPECT_TRUE(Has(*bank.accounts.Find("a").value(), "t"));
}

TEST_P(TransferRecipe, WhatTheAccountDoesNotHaveIsRefusedOnceAndForAll) {
  const Bank bank(GetParam().open(nullptr));
  bank.Open();
  const Transfer much{"much", "a", "b", 101};
  Move(bank.transfers, bank.accounts, much);
  bank.accounts.Update("a", [](Account& a) { a.balance = 1000; });
  Move(bank.transfers, bank.accounts, much);
  EXPECT_EQ(bank.transfers.Find("much").value()->state, "refused");
  EXPECT_EQ(bank.Balance("a"), 1000);
}

TEST_P(TransferRecipe, AMessageThatMakesNoSenseIsRefusedAndMovesNothing) {
  const Bank bank(GetParam().open(nullptr));
  bank.Open();
  for (const Transfer& bad : {Transfer{"same", "a", "a", 10}, Transfer{"none", "a", "b", 0},
                              Transfer{"negative", "a", "b", -10}}) {
    SCOPED_TRACE(bad.id);
    EXPECT_EQ(Handle(bank.transfers, bank.accounts, bad), Verdict::kAck);
    EXPECT_EQ(bank.transfers.Find(bad.id).value()->state, "refused");
    EXPECT_EQ(bank.Balance("a"), 100);
    EXPECT_EQ(bank.Balance("b"), 100);
  }
}

TEST_P(TransferRecipe, AMessageCreatesItsTransferAndEachDeliveryIsAcknowledged) {
  const Bank bank(GetParam().open(nullptr));
  bank.Open();
  const Transfer message{"t", "a", "b", 10, "moved"};  // the sender has no say in the state
  for (int delivery = 0; delivery < 3; ++delivery) {
    EXPECT_EQ(Handle(bank.transfers, bank.accounts, message), Verdict::kAck);
    ExpectMovedOnce(bank);
  }
}

TEST_P(TransferRecipe, ATransferToNoAccountIsADeadLetterUntilTheAccountIsOpened) {
  const Bank bank(GetParam().open(nullptr));
  bank.Open();
  const Transfer message{"t", "a", "c", 10};
  EXPECT_EQ(Handle(bank.transfers, bank.accounts, message), Verdict::kDeadLetter);
  EXPECT_EQ(bank.Balance("a"), 100);
  bank.accounts.Insert(Account{"c"});
  EXPECT_EQ(Handle(bank.transfers, bank.accounts, message), Verdict::kAck);
  EXPECT_EQ(bank.Balance("c"), 10);
}

DOCLOCK_FOR_ALL_STORES(TransferRecipe);

}  // namespace
