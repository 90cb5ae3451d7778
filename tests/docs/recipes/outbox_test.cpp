// The recipe for the outbox (docs/how-to/outbox.md).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "doclock/testing/intervene.h"
#include "docs/recipes/pause.h"
#include "docs_how_to_outbox_outbox.cpp"
#include "repository/support/stores.h"

namespace {

class OutboxRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  void SetUp() override {
    for (const char* order : {"1", "2", "3"}) {
      sagas.Insert(OrderSaga{order, "new"});
      Pay(sagas, order);
    }
  }
  /// Counts what it is given, and cannot send the bad one.
  std::function<void(const std::string&)> Sender() {
    return [this](const std::string& message) {
      ++tries[message];
      if (message == bad) throw std::runtime_error("a bad address");
    };
  }

  /// What `doclock list --where parked=true` shows.
  [[nodiscard]] std::vector<std::string> Parked() const {
    std::vector<std::string> ids;
    for (const auto& saga : sagas.Find(doclock::Filter{}.Equal("parked", true))) {
      ids.push_back(saga->id);
    }
    return ids;
  }

  std::shared_ptr<doclock::Store> store = GetParam().open(nullptr);
  doclock::LockManager manager{store};
  Sagas sagas{manager, "sagas"};
  std::string bad = "invoice:1";
  std::map<std::string, int> tries;
};

TEST_P(OutboxRecipe, AMessageThatCannotBeSentDelaysOnlyItself) {
  SendWhatIsDue(sagas, Sender(), 1000);
  SendWhatIsDue(sagas, Sender(), 1001);
  const std::map<std::string, int> once = {{"invoice:1", 1}, {"invoice:2", 1}, {"invoice:3", 1}};
  EXPECT_EQ(tries, once);
  SendWhatIsDue(sagas, Sender(), 1002);
  EXPECT_EQ(tries["invoice:1"], 2);
  bad.clear();
  SendWhatIsDue(sagas, Sender(), 1006);
  EXPECT_EQ(tries["invoice:1"], 3);
  EXPECT_TRUE(sagas.Find("1").value()->outbox.empty());
}

TEST_P(OutboxRecipe, ItIsParkedAfterTenAttemptsAndNotLost) {
  SendWhatIsDue(sagas, Sender(), 1000);
  while (sagas.Find("1").value()->pending) {
    const std::int64_t due = sagas.Find("1").value()->due;
    SendWhatIsDue(sagas, Sender(), due - 1);
    SendWhatIsDue(sagas, Sender(), due);
  }
  EXPECT_EQ(tries["invoice:1"], kMostAttempts);
  EXPECT_FALSE(sagas.Find("1").value()->pending);
  EXPECT_THAT(Parked(), ::testing::ElementsAre("1"));
  EXPECT_THAT(sagas.Find("1").value()->outbox, ::testing::ElementsAre("invoice:1"));
}

TEST_P(OutboxRecipe, WhatTheLastAttemptSendsIsNotParked) {
  sagas.Update("1", [](OrderSaga& saga) { saga.attempts = kMostAttempts - 1; });
  bad.clear();
  SendWhatIsDue(sagas, Sender(), 1000);
  EXPECT_EQ(sagas.Find("1").value()->attempts, kMostAttempts);
  EXPECT_THAT(Parked(), ::testing::IsEmpty());
}

TEST_P(OutboxRecipe, AMessageThatKillsItsSenderAtTheLastAttemptIsParked) {
  sagas.Update("1", [](OrderSaga& saga) { saga.attempts = kMostAttempts - 1; });
  struct Dead {};
  const auto dies = [](const std::string& message) {
    if (message == "invoice:1") throw Dead();
  };
  EXPECT_THROW(SendWhatIsDue(sagas, dies, 1000), Dead);
  EXPECT_THAT(Parked(), ::testing::ElementsAre("1"));
}

TEST_P(OutboxRecipe, AMessageThatKillsItsSenderIsDelayedToo) {
  struct Dead {};
  const auto dies = [](const std::string& message) {
    if (message == "invoice:1") throw Dead();
  };
  EXPECT_THROW(SendWhatIsDue(sagas, dies, 1000), Dead);
  SendWhatIsDue(sagas, Sender(), 1001);
  EXPECT_EQ(tries, (std::map<std::string, int>{{"invoice:2", 1}, {"invoice:3", 1}}));
  EXPECT_EQ(sagas.Find("1").value()->attempts, 1);
}

TEST_P(OutboxRecipe, ASenderThatIsPausedLosesNoMessage) {
  bad.clear();
  for (int call = 1; call <= 6; ++call) {
    SCOPED_TRACE("paused before its call " + std::to_string(call));
    const std::string order = "p" + std::to_string(call);
    sagas.Insert(OrderSaga{order, "new"});
    const doclock::LockManager slow(doclock::test::PausedAt(store, call, [&] {
      for (const auto& saga : sagas.Find(doclock::Filter{})) {
        if (saga.locked()) doclock::testing::ExpireLock(*store, "sagas", saga.key());
      }
      SendWhatIsDue(sagas, Sender(), 5000);
    }));
    try {
      const Sagas paused(slow, "sagas");
      Pay(paused, order);
      SendWhatIsDue(paused, Sender(), 1000);
    } catch (const doclock::LockException& e) {
      EXPECT_EQ(e.errc(), doclock::Errc::kLost) << e.what();
    }
    Pay(sagas, order);
    SendWhatIsDue(sagas, Sender(), 5000);
    EXPECT_GE(tries["invoice:" + order], 1);
    EXPECT_TRUE(sagas.Find(order).value()->outbox.empty());
  }
}

DOCLOCK_FOR_ALL_STORES(OutboxRecipe);

}  // namespace
