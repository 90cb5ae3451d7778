#include <nlohmann/json.hpp>

#include <boost/uuid/uuid_io.hpp>

#include "doclock/locking_repository.h"
#include "doclock/observer.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

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
