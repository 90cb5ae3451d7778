#include <nlohmann/json.hpp>

#include <boost/uuid/uuid_io.hpp>

#include "doclock/locking_repository.h"
#include "doclock/log_observer.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

class LogTest : public NamedTest {
 protected:
  using Lines = std::vector<std::pair<LogLevel, std::string>>;

  LockManager Logged(LogLevel least) {
    return AnotherManager(
        {.observer = std::make_shared<LogObserver>(
             [this](LogLevel level, std::string_view line) { lines.emplace_back(level, line); },
             least)});
  }
  /// The lines since the last call.
  Lines Take() {
    clock->RunPending();
    return std::exchange(lines, {});
  }

  Lines lines;
  LockManager watched = Logged(LogLevel::kDebug);
  LockProvider locks{watched, "jobs"};
};
DOCLOCK_FOR_ALL_STORES(LogTest);

TEST_P(LogTest, SaysWhatHappensToWhichLock) {
  auto lock = locks.Acquire("a", {.ttl = 30s, .owner = "me"});
  EXPECT_THAT(Take(), ElementsAre(Pair(LogLevel::kDebug,
                                       AllOf(HasSubstr("granted: 'a' of 'jobs' after 0.0")))));
  EXPECT_FALSE(locks.TryAcquire("a"));
  EXPECT_THAT(Take(), ElementsAre(Pair(LogLevel::kDebug, HasSubstr("busy: 'a' of 'jobs', held by "
                                                                   "me ("))));
  EXPECT_FALSE(locks.TryAcquire("a", {.wait = 1s}));
  EXPECT_THAT(Take(), ElementsAre(Pair(LogLevel::kInfo, HasSubstr("waited in vain: 'a'"))));
  clock->Advance(15s);
  EXPECT_THAT(Take(), Contains(Pair(LogLevel::kDebug, "doclock: renewed: 'a' of 'jobs'")));
  lock.Release();
  EXPECT_THAT(Take(), ElementsAre(Pair(LogLevel::kDebug, HasSubstr("released: 'a' of 'jobs' "
                                                                   "after 16."))));
}

TEST_P(LogTest, AHandOverIsSaidToBeOne) {
  auto lock = locks.Acquire("a");
  auto waiting = locks.AcquireAsync("a", {.wait = 1min});
  clock->RunPending();
  Take();
  lock.Release();
  EXPECT_THAT(Take(), Contains(Pair(LogLevel::kDebug, HasSubstr("handed over in this process"))));
  EXPECT_TRUE(Get(std::move(waiting)).held());
}

TEST_P(LogTest, WarnsOfRenewalsThatFailAndTellsOfTheLoss) {
  auto lock = locks.Acquire("a", {.ttl = 30s});
  Take();
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRenew, .times = 1000});
  clock->Advance(29s);
  EXPECT_THAT(Take(), Contains(Pair(LogLevel::kWarning,
                                    HasSubstr("cannot be renewed yet: 'a' of 'jobs', lost in "))));
  clock->Advance(2s);
  EXPECT_THAT(Take(), Contains(Pair(LogLevel::kError, "doclock: lost: 'a' of 'jobs'")));
  EXPECT_FALSE(lock.held());
}

TEST_P(LogTest, TellsOfDoubtAndOfDiscardedChanges) {
  const LockingRepository<nlohmann::json> documents(watched, "documents");
  documents.Insert("d", {{"n", 1}});
  documents.Lock("d").Discard();
  EXPECT_THAT(Take(), Contains(Pair(LogLevel::kInfo, HasSubstr("discarded, its changes not "
                                                               "written: 'd' of 'documents'"))));
  auto document = documents.Lock("d", {.ttl = 1s});
  (*document)["n"] = 2;
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .times = 1000});
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRead, .times = 1000});
  EXPECT_EQ(CodeOf([&] { document.Release(); }), Errc::kInDoubt);
  EXPECT_THAT(Take(), Contains(Pair(LogLevel::kError, HasSubstr("in doubt whether it was written: "
                                                                "'d' of 'documents'"))));
}

TEST_P(LogTest, LinesBelowTheLeastLevelAreNotMade) {
  const LockProvider quiet(Logged(LogLevel::kError), "jobs");
  auto lock = quiet.Acquire("a", {.ttl = 1s, .renew = false});
  EXPECT_FALSE(quiet.TryAcquire("a"));
  EXPECT_THAT(Take(), IsEmpty());
  clock->Advance(2s);
  EXPECT_THAT(Take(), ElementsAre(Pair(LogLevel::kError, HasSubstr("lost"))));
}

TEST_P(LogTest, ANameCannotForgeALine) {
  auto lock = locks.Acquire("a\ndoclock: lost: 'b'\x1b[2J", {.owner = "me\r\nyou"});
  EXPECT_FALSE(locks.TryAcquire(lock.name()));
  for (const auto& [level, line] : Take()) {
    EXPECT_THAT(line, HasSubstr(R"('a\x0adoclock: lost: 'b'\x1b[2J' of)"));
    EXPECT_EQ(line.find_first_of("\n\r\x1b"), line.npos) << line;
  }
}

TEST_P(LogTest, NoLineHasALockIdOrABody) {
  const LockingRepository<nlohmann::json> documents(watched, "documents");
  auto document = documents.Lock({"d", nlohmann::json{{"word", "canary"}}});
  const std::string id = boost::uuids::to_string(document.lock_id());
  clock->Advance(1min);
  document.Release();
  auto lock = locks.Acquire("a");
  const std::string other_id = boost::uuids::to_string(lock.lock_id());
  lock = HeldLock();
  const Lines all = Take();
  EXPECT_GE(all.size(), 4U);
  for (const auto& [level, line] : all) {
    EXPECT_THAT(line, Not(HasSubstr("canary")));
    EXPECT_THAT(line, Not(HasSubstr(id)));
    EXPECT_THAT(line, Not(HasSubstr(other_id)));
  }
}

TEST_P(LogTest, WhatTheSinkThrowsIsSwallowed) {
  const LockProvider noisy(
      AnotherManager({.observer = std::make_shared<LogObserver>(
                          [](LogLevel, std::string_view) { throw std::runtime_error("full"); },
                          LogLevel::kDebug)}),
      "jobs");
  auto lock = noisy.Acquire("a");
  clock->Advance(1min);
  EXPECT_TRUE(lock.held());
  lock.Release();
  EXPECT_TRUE(IsFree("a"));
}

TEST(LogObserverTest, TellsHowManyEventsWereLeftOut) {
  std::vector<std::string> lines;
  const auto sink = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  LogObserver(sink, LogLevel::kError).OnMissed(7);
  EXPECT_THAT(lines, IsEmpty());
  LogObserver(sink, LogLevel::kWarning).OnMissed(7);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("7 events were left out")));
}

TEST(LogObserverTest, RefusesAnEmptySink) {
  EXPECT_NE(RefusalOf([] { LogObserver observer(LogObserver::Sink{}); }), "");
}

}  // namespace
}  // namespace doclock::named
