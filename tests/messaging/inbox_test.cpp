#include "doclock/messages.h"

#include <gtest/gtest.h>

#include "repository/support/harness.h"

namespace doclock {
namespace {

class InboxTest : public RepositoryTest {
 protected:
  void AcceptAlone(const Key& id) {
    Transaction transaction(manager);
    inbox.Accept(transaction, id);
    transaction.Commit();
  }

  Inbox inbox{manager};
};

/// Of a producer that left it out.
TEST_P(InboxTest, TakesNoMessageWithoutAnId) {
  Transaction transaction(manager);
  EXPECT_THROW(inbox.Accept(transaction, ""), std::invalid_argument);
}

TEST_P(InboxTest, TheAsynchronousCommitSaysSoToo) {
  AcceptAlone("m1");
  Transaction transaction(manager);
  transaction.Insert(sagas, Saga{"42"});
  inbox.Accept(transaction, "m1");
  EXPECT_THROW(Get(transaction.CommitAsync()), DuplicateMessageException);
  EXPECT_FALSE(sagas.Find("42"));
}

TEST_P(InboxTest, OtherConflictsOfTheTransactionKeepTheirName) {
  sagas.Insert(Saga{"42"});
  Transaction transaction(manager);
  inbox.Accept(transaction, "m1");
  transaction.Insert(sagas, Saga{"42"});
  try {
    transaction.Commit();
    FAIL() << "nothing was thrown";
  } catch (const DuplicateMessageException&) {
    FAIL() << "the message is new";
  } catch (const ConflictException&) {
    EXPECT_FALSE(inbox.Contains("m1"));
  }
}

TEST_P(InboxTest, TakesKeysOfAnyType) {
  const Uuid id = NewUuid();
  AcceptAlone(id);
  AcceptAlone(7);
  EXPECT_THROW(AcceptAlone(id), DuplicateMessageException);
  EXPECT_TRUE(inbox.Contains(7));
  EXPECT_FALSE(inbox.Contains("7"));
}

TEST_P(InboxTest, ForgetsByAge) {
  constexpr int kIds = 450;
  Transaction transaction(manager);
  for (int id = 0; id < kIds; ++id) inbox.Accept(transaction, id);
  transaction.Commit();
  inbox.EnsureIndexes();
  EXPECT_EQ(inbox.Forget(1h), 0);
  EXPECT_EQ(inbox.Forget(Duration::Max()), 0);
  EXPECT_EQ(inbox.Forget(0s), kIds);
  EXPECT_FALSE(inbox.Contains(0));
  EXPECT_THROW(inbox.Forget(-1s), std::invalid_argument);
}

TEST_P(InboxTest, TheStoresClockTellsTheAge) {
  AcceptAlone("early");
  const Date before = manager.StoreTime();
  clock->Advance(3h);
  if (manager.StoreTime() < before.time() + 3h) GTEST_SKIP() << "the clock is the server's";
  AcceptAlone("late");
  EXPECT_EQ(inbox.Forget(2h), 1);
  EXPECT_FALSE(inbox.Contains("early"));
  EXPECT_TRUE(inbox.Contains("late"));
}

DOCLOCK_FOR_ALL_STORES(InboxTest);

}  // namespace
}  // namespace doclock
