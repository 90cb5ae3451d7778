#include "doclock/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "repository/support/harness.h"
#include "repository/support/pause.h"

namespace doclock {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OutboxTest : public RepositoryTest {
 protected:
  void Add(const OutboxMessage& message) {
    Transaction transaction(manager);
    outbox.Add(transaction, message);
    transaction.Commit();
  }
  /// Sends what is due, each message once at most.
  void SendWhatIsDue(const DispatchOptions& options = {.retry_min = 1h, .retry_max = 1h}) {
    const auto send = [this](const OutboxMessage& message) {
      const auto& id = std::get<std::string>(message.id.value());
      tried.push_back(id);
      if (bad.count(id) != 0) throw std::runtime_error("a bad address\x01");
    };
    while (outbox.SendNext(send, options)) {
    }
  }
  std::vector<std::string> Parked() {
    std::vector<std::string> ids;
    for (const auto& message : outbox.Parked()) ids.push_back(message.id.ToString());
    return ids;
  }

  /// Ends the leases of a sender that stands still.
  void EndLeases() {
    const LockingRepository<json> messages(manager, "outbox");
    for (const auto& message : messages.Find(Filter{}.Locked())) {
      ExpireLock(*store, "outbox", message.key());
    }
  }

  Outbox outbox{manager};
  std::set<std::string> bad;
  std::vector<std::string> tried;
  const DispatchOptions once{.max_attempts = 1};
};

TEST_P(OutboxTest, PausesGoByTheStoresClock) {
  const Date before = manager.StoreTime();
  clock->Advance(3h);
  if (manager.StoreTime() < before.time() + 3h) GTEST_SKIP() << "the clock is the server's";
  bad = {"m"};
  Add({.id = "m"});
  for (int attempts = 1; attempts <= 2; ++attempts) {
    SendWhatIsDue();
    EXPECT_EQ(tried.size(), attempts) << "once in an hour";
    clock->Advance(59min);
    SendWhatIsDue();
    EXPECT_EQ(tried.size(), attempts);
    clock->Advance(1min);
  }
}

TEST_P(OutboxTest, AFailureThatCannotBeStoredIsToldToo) {
  Add({.id = "m"});
  const auto send = [&](const OutboxMessage&) {
    store->Inject({.kind = Fault::Kind::kErrorBefore,
                   .op = OpKind::kWrite,
                   .times = std::numeric_limits<int>::max()});
    throw std::runtime_error("no route");
  };
  DispatchOptions options{.max_attempts = 1};
  std::vector<std::string> told;
  options.on_failure = [&](const OutboxMessage& message, const std::exception_ptr& error) {
    EXPECT_TRUE(message.parked);
    EXPECT_THROW(std::rethrow_exception(error), std::runtime_error);
    told.push_back(message.error);
  };
  EXPECT_EQ(CodeOf([&] { outbox.SendNext(send, options); }), Errc::kUnavailable);
  EXPECT_THAT(told, ElementsAre("no route"));
  store->Heal();
  clock->Advance(1min);
  EXPECT_THAT(Parked(), ElementsAre("m"));
}

TEST_P(OutboxTest, TheNumberOfAttemptsEndsAtTheHighest) {
  constexpr int kHighest = std::numeric_limits<int>::max();
  bad = {"m"};
  Add({.id = "m"});
  LockingRepository<OutboxMessage>(manager, "outbox").Update("m", [](OutboxMessage& message) {
    message.attempts = kHighest;
  });
  SendWhatIsDue({.retry_min = 1ms, .retry_max = 1h});
  EXPECT_EQ(Stored("m", "outbox").value().at("attempts"), kHighest);
  EXPECT_THAT(Parked(), ElementsAre("m"));
}

TEST_P(OutboxTest, AFailedMessageIsTriedAgainLaterAndDelaysNoOther) {
  bad = {"m1"};
  Add({.id = "m1"});
  Add({.id = "m2"});
  SendWhatIsDue();
  EXPECT_THAT(tried, ElementsAre("m1", "m2"));
  const json stored = Stored("m1", "outbox").value();
  EXPECT_EQ(stored.at("attempts"), 1);
  EXPECT_EQ(stored.at("error"), "a bad address\\x01");
  EXPECT_GT(stored.at("due").get<Date>(), manager.StoreTime());
}

TEST_P(OutboxTest, ThePauseDoublesUpToALimit) {
  bad = {"m"};
  Add({.id = "m"});
  for (const auto pause : {1h, 2h, 3h, 3h}) {
    const Date before = manager.StoreTime().time() + pause;
    SendWhatIsDue({.retry_min = 1h, .retry_max = 3h});
    const Date after = manager.StoreTime().time() + pause;
    const auto due = Stored("m", "outbox").value().at("due").get<Date>();
    EXPECT_LE(before, due);
    EXPECT_LE(due, after);
    LockingRepository<OutboxMessage>(manager, "outbox").Update("m", [](OutboxMessage& message) {
      message.due = {};
    });
  }
}

TEST_P(OutboxTest, ThePauseBeginsWhenTheAttemptFailsHoweverLongItTook) {
  Add({.id = "m"});
  Date failed, told;
  DispatchOptions options{.retry_min = 1h, .retry_max = 1h};
  options.on_failure = [&](const OutboxMessage& message, auto&) { told = message.due; };
  const auto send = [&](const OutboxMessage&) {
    clock->Advance(2h);
    failed = manager.StoreTime();
    throw std::runtime_error("no route");
  };
  EXPECT_TRUE(outbox.SendNext(send, options));
  EXPECT_GE(told, failed.time() + 1h);
  EXPECT_EQ(Stored("m", "outbox").value().at("due").get<Date>(), told);
}

TEST_P(OutboxTest, ATimeThatIsNoneOfThePastIsNoAge) {
  using Limits = Date::TimePoint;
  Add({.id = "m"});
  for (const Date since : {Limits::min(), Limits(), Limits::max()}) {
    LockingRepository<OutboxMessage>(manager, "outbox").Update("m", [&](OutboxMessage& message) {
      message.since = since;
    });
    EXPECT_EQ(outbox.Status().oldest, 0ms) << since.time().time_since_epoch().count();
  }
}

TEST_P(OutboxTest, SendingNeedsAFunctionAndAWaitThatIsNotNegative) {
  Add({.id = "m"});
  EXPECT_THROW(outbox.SendNext(nullptr), std::invalid_argument);
  EXPECT_THROW(outbox.SendNext([](const OutboxMessage&) {}, {}, -1ms), std::invalid_argument);
  EXPECT_EQ(outbox.Status().pending, 1);
}

TEST_P(OutboxTest, AMessageThatIsNeverDueDoesNotAge) {
  Add({.id = "never", .due = Date(Date::TimePoint::max())});
  EXPECT_EQ(outbox.Status().oldest, 0ms);
}

TEST_P(OutboxTest, TheOldestIsTheOneThatIsDueForLongest) {
  bad = {"parked"};
  Add({.id = "parked"});
  SendWhatIsDue({.max_attempts = 1});
  Add({.id = "later", .due = manager.StoreTime().time() + 5h});
  EXPECT_EQ(outbox.Status().oldest, 0ms);
  Add({.id = "waits"});
  LockingRepository<OutboxMessage>(manager, "outbox").Update("waits", [&](OutboxMessage& message) {
    message.since = message.since.time() - 3h;
  });
  EXPECT_GE(outbox.Status().oldest, 2h);  // the two clocks may differ
  EXPECT_LE(outbox.Status().oldest, 4h);
}

TEST_P(OutboxTest, AFailureDoesNotAgeAMessageByItsDelay) {
  const Date before = manager.StoreTime();
  Add({.id = "later", .due = before.time() + 5h});
  clock->Advance(5h + 1min);
  if (manager.StoreTime() < before.time() + 5h) GTEST_SKIP() << "the clock is the server's";
  bad = {"later"};
  EXPECT_EQ(outbox.Status().oldest, 1min);
  SendWhatIsDue();
  EXPECT_EQ(outbox.Status().oldest, 1min);
  clock->Advance(1h);
  SendWhatIsDue(once);
  EXPECT_TRUE(outbox.Retry("later"));
  EXPECT_EQ(outbox.Status().oldest, 1h + 1min);
}

TEST_P(OutboxTest, MessagesOfOneOrderGoByTheirPosition) {
  Transaction transaction(manager);
  outbox.Add(transaction, {.id = "third", .order = "a", .position = 3});
  outbox.Add(transaction, {.id = "first", .order = "a", .position = 1});
  outbox.Add(transaction, {.id = "second", .order = "a", .position = 2});
  transaction.Commit();
  SendWhatIsDue();
  EXPECT_THAT(tried, ElementsAre("first", "second", "third"));
}

TEST_P(OutboxTest, WithoutPositionsTheyGoAsTheyWereAdded) {
  Transaction transaction(manager);
  for (const char* const id : {"z", "y", "x"}) outbox.Add(transaction, {.id = id, .order = "a"});
  transaction.Commit();
  SendWhatIsDue();
  EXPECT_THAT(tried, ElementsAre("z", "y", "x"));
}

TEST_P(OutboxTest, ThoseBehindOneThatWaitsCostNothingMeanwhile) {
  bad = {"1"};
  for (const char* const id : {"1", "2", "3"}) Add({.id = id, .order = "a"});
  SendWhatIsDue();
  clock->Advance(10min);
  store->Reset();
  SendWhatIsDue();
  EXPECT_EQ(Writes(), 0);
  bad.clear();
  clock->Advance(1h);
  SendWhatIsDue();
  EXPECT_THAT(tried, ElementsAre("1", "1", "2", "3"));
}

/// A process sent the first one, and died before it woke the next.
TEST_P(OutboxTest, AMessageThatNoProcessWakesIsFoundByTheNextOne) {
  for (const char* const order : {"a", "b"}) {
    for (const int number : {1, 2}) {
      const auto id = order + std::to_string(number);
      const auto behind = OutboxMessage{
          .id = id, .order = order, .position = number, .behind = true, .added = number};
      Put(id, behind, "outbox");
    }
  }
  Put("a0", json{{"order", "a0"}, {"behind", true}, {"parked", false}, {"added", 1}}, "outbox");
  while (Outbox(manager).SendNext([&](auto& message) { tried.push_back(message.id.ToString()); })) {
  }
  EXPECT_THAT(Parked(), ElementsAre("a0")) << "it is no message";
  EXPECT_THAT(tried, ::testing::UnorderedElementsAre("a1", "a2", "b1", "b2"));
}

/// Whichever call fails after the first one was sent, and for how long.
TEST_P(OutboxTest, AnOutageLeavesNoMessageAsleepInAProcessThatLives) {
  const auto add_both = [&] {
    tried.clear();
    Add({.id = "m1", .order = "a"});
    Add({.id = "m2", .order = "a"});
  };
  const auto note = [&](const OutboxMessage& message) { tried.push_back(message.id.ToString()); };
  for (const auto kind : {Fault::Kind::kErrorBefore, Fault::Kind::kLostAfter}) {
    int calls = 0;
    for (bool failed = true; failed; ++calls) {
      SCOPED_TRACE("without its call " + std::to_string(calls));
      add_both();
      const auto send = [&](const OutboxMessage& message) {
        note(message);
        EXPECT_TRUE(outbox.SendNext(note));  // the second one falls asleep
        store->Inject({.kind = kind, .skip = calls, .times = std::numeric_limits<int>::max()});
      };
      failed = false;
      try {
        outbox.SendNext(send);
      } catch (const StoreException&) {
        failed = true;
      }
      store->Heal();
      EndLeases();
      clock->Advance(1h);
      while (outbox.SendNext(note)) {
      }
      EXPECT_THAT(tried, Contains("m2"));
      EXPECT_EQ(outbox.Status().pending, 0);
    }
    EXPECT_GT(calls, 2);  // to delete it, and to wake the next
  }
}

TEST_P(OutboxTest, ADocumentThatIsNoMessageIsParkedAndHoldsUpNothing) {
  Add({.id = "bad", .order = "a"});
  Add({.id = "good", .order = "b"});
  LockingRepository<json>(manager, "outbox").Update("bad", [](json& message) {
    message["attempts"] = "many";
  });
  outbox.EnsureIndexes();
  SendWhatIsDue();
  EXPECT_THAT(tried, ElementsAre("good"));
  const auto parked = outbox.Parked();
  ASSERT_EQ(parked.size(), 1U);
  EXPECT_EQ(parked[0].id, Key("bad"));
  EXPECT_EQ(json::parse(parked[0].payload.get<std::string>()).at("attempts"), "many");
  EXPECT_THAT(parked[0].error, HasSubstr("must be number"));
}

TEST_P(OutboxTest, ADocumentThatIsNoMessageHoldsUpNothingHoweverLongOrDeepItIs) {
  json deep;
  for (int i = 1; i < kMaxBodyDepth; ++i) deep = json::array({deep});
  for (const json& payload : {deep, json(std::string(kMaxBodyBytes - 2048, 'x'))}) {
    Add({.id = "bad"});
    Add({.id = "good"});
    LockingRepository<json>(manager, "outbox").Update("bad", [&](json& message) {
      message["attempts"] = "many";
      message["payload"] = payload;
    });
    SendWhatIsDue();
    EXPECT_THAT(tried, ElementsAre("good"));
    EXPECT_THAT(Parked(), ElementsAre("bad"));
    LockingRepository<json>(manager, "outbox").Lock("bad").Erase();
    tried.clear();
  }
}

TEST_P(OutboxTest, ADocumentOfAnotherProgramIsShownAndLeftAlone) {
  Add({.id = "good", .order = "a"});
  LockingRepository<json> documents(manager, "outbox");
  documents.Insert("stray", json{{"order", "a"}, {"position", 1}, {"n", 7}});
  documents.Insert("due", json{{"parked", false}, {"behind", false}, {"due", Date()}});
  SendWhatIsDue();
  EXPECT_THAT(tried, ElementsAre("good"));
  ASSERT_EQ(outbox.Parked().size(), 2U);
  EXPECT_EQ(outbox.RetryParked(), 0);
  EXPECT_THROW(outbox.Retry("stray"), DocumentException);
  EXPECT_THROW(outbox.Drop("stray"), DocumentException);
  EXPECT_EQ(documents.Find("stray").value()->at("n"), 7);
}

TEST_P(OutboxTest, AMessageThatCouldNotBeSavedLaterIsNotAdded) {
  Transaction transaction(manager);
  const std::string text(kMaxBodyBytes - 4096, 'x');
  EXPECT_THROW(outbox.Add(transaction, {.id = "long", .payload = text}), DocumentException);
  const json long_as_bson(1'400'000, 0);
  EXPECT_THROW(outbox.Add(transaction, {.id = "long", .payload = long_as_bson}), DocumentException);
  constexpr std::size_t kLevels = 200'000;
  json deep = json::parse(std::string(kLevels, '[') + std::string(kLevels, ']'));
  EXPECT_THROW(outbox.Add(transaction, {.id = "deep", .payload = std::move(deep)}),
               DocumentException);
  outbox.Add(transaction, {.id = "good", .payload = std::string(1000, 'x')});
  transaction.Commit();
  SendWhatIsDue();
  EXPECT_THAT(tried, ElementsAre("good"));
}

TEST_P(OutboxTest, ASenderThatIsPausedBeforeAnyOfItsCallsLosesNoMessage) {
  const DispatchOptions at_once{.max_attempts = 1000, .retry_min = 0s, .retry_max = 0s};
  const auto send_all = [&] {
    clock->Advance(1s);
    SendWhatIsDue(at_once);
  };
  int call = 0;
  for (bool paused = true; paused;) {
    SCOPED_TRACE("paused before its call " + std::to_string(++call));
    tried.clear();
    Add({.id = "m1", .order = "a"});
    Add({.id = "m2", .order = "a"});
    paused = false;
    const LockManager slow(test::PausedAt(store, call,
                                          [&] {
                                            paused = true;
                                            EndLeases();
                                            send_all();
                                          }),
                           {.runtime = clock->runtime()});
    try {
      while (Outbox(slow).SendNext([&](auto& message) { tried.push_back(message.id.ToString()); },
                                   at_once)) {
      }
    } catch (const LockException& e) {
      EXPECT_EQ(e.errc(), Errc::kLost) << e.what();
    }
    send_all();
    EXPECT_THAT(tried, AllOf(Contains("m1"), Contains("m2")));
    EXPECT_EQ(outbox.Status().pending, 0);
  }
  EXPECT_GT(call, 4);  // of each message: before it is sent, and before it is deleted
}

TEST_P(OutboxTest, BadOptionsAreNamed) {
  const auto refused = [&](const DispatchOptions& options, const char* field) {
    EXPECT_THAT(ThrownBy<std::invalid_argument>([&] { SendWhatIsDue(options); }).what(),
                HasSubstr(field));
  };
  refused({.threads = 0}, "threads");
  refused({.threads = 65}, "threads");
  refused({.max_attempts = 0}, "max_attempts");
  refused({.retry_min = -1s}, "retry_min");
  refused({.retry_min = 2s, .retry_max = 1s}, "retry_max");
  refused({.retry_max = Duration::Max()}, "retry_max");
  EXPECT_THROW((void)outbox.Dispatch(nullptr), std::invalid_argument);
}

// NOLINTBEGIN(bugprone-use-after-move)
TEST_P(OutboxTest, OneThatWasMovedFromSaysSo) {
  const auto send = [](const OutboxMessage&) {};
  Outbox moved = std::move(outbox);
  EXPECT_THROW(outbox.SendNext(send), std::logic_error);
  EXPECT_THROW((void)outbox.Dispatch(send), std::logic_error);
  EXPECT_THROW((void)outbox.Status(), std::logic_error);
  EXPECT_FALSE(moved.SendNext(send));
}
// NOLINTEND(bugprone-use-after-move)

DOCLOCK_FOR_ALL_STORES(OutboxTest);

}  // namespace
}  // namespace doclock
