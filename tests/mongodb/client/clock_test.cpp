// The members' clocks are the only ones that count: a client whose own is an hour off changes
// nothing.

#include <gtest/gtest.h>

#include <ctime>
#include <optional>
#include <sstream>

#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"
#include "process/child.h"
#include "process/fake_time.h"

namespace doclock::mongo_test {
namespace {

using Things = LockingRepository<nlohmann::json>;

/// The helper's output: a word, a number, and the wall clock that it sees.
struct Said {
  explicit Said(const std::optional<std::string>& line) {
    std::istringstream(line.value_or("nothing")) >> word >> number >> clock;
  }
  std::string word;
  std::int64_t number = 0;
  std::int64_t clock = 0;
};

class MongoClock : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    library_ = test::FakeTimeLibrary();
    if (!library_) GTEST_SKIP() << "libfaketime is not installed";
  }
  /// A process whose wall clock is this many seconds off.
  test::Child Start(std::vector<std::string> arguments) {
    const std::string offset = (GetParam() > 0 ? "+" : "") + std::to_string(GetParam());
    return test::Child(
        std::move(arguments),
        {"env", "LD_PRELOAD=" + *library_, "FAKETIME=" + offset, "FAKETIME_DONT_FAKE_MONOTONIC=1"});
  }
  static void ExpectOff(const Said& said) {
    EXPECT_NEAR(static_cast<double>(said.clock - std::time(nullptr)), GetParam(), 60)
        << "the process does not see the false time";
  }

  /// A lease that even a busy machine renews in time.
  static constexpr std::chrono::milliseconds kRenewed = 3s;

  std::optional<std::string> library_;
  Database database_{SetUri()};
  Things things_{LockManager(OpenMongodbStore(database_.uri())), "things", {.ttl = 30s}};
};

TEST_P(MongoClock, AClientThatIsOffFindsALiveLockLive) {
  const auto lock = things_.Lock({"job", nlohmann::json::object()});
  test::Child other = Start({"try", database_.uri(), "job"});
  const Said said(other.Line());
  ExpectOff(said);
  EXPECT_EQ(said.word, "busy");
  EXPECT_LE(said.number, 30'000);
  EXPECT_GE(said.number, 10'000);
}

TEST_P(MongoClock, AClientThatIsOffTakesWhatIsExpired) {
  Client client(OpenMongodbStore(database_.uri()));
  const Key key("job");
  ASSERT_EQ(client.Acquire(key, NewUuid(), Counted(1)).status, OpStatus::kDone);
  client.Expire(key);
  test::Child other = Start({"try", database_.uri(), "job"});
  const Said said(other.Line());
  ExpectOff(said);
  EXPECT_EQ(said.word, "held");
}

TEST_P(MongoClock, TheLockOfAClientThatIsOffIsItsOwnForAsLongAsItRenews) {
  things_.Insert("job", nlohmann::json::object());
  test::Child holder = Start({"hold", database_.uri(), "job", std::to_string(kRenewed.count())});
  const Said said(holder.Line());
  ExpectOff(said);
  ASSERT_EQ(said.word, "held");
  // Longer than its lease: it has to be renewed meanwhile.
  try {
    const auto lock = things_.Lock("job", {.wait = 2 * kRenewed});
    FAIL() << "the lock was taken from its holder";
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kTimedOut);
    ASSERT_TRUE(error.remaining());
    EXPECT_LE(*error.remaining(), kRenewed);
  }
  holder.Say("save");
  EXPECT_EQ(holder.Line(), "done");
  holder.Say("release");
  const auto done = holder.Line();
  EXPECT_TRUE(done && done->starts_with("done")) << done.value_or("nothing");
  EXPECT_EQ((**things_.Find("job"))["written by"], "the holder");
}

TEST_P(MongoClock, TheLockOfADeadClientThatWasOffEndsWithItsLease) {
  things_.Insert("job", nlohmann::json::object());
  test::Child holder = Start({"hold", database_.uri(), "job", "1000"});
  ASSERT_EQ(Said(holder.Line()).word, "held");
  holder.Kill();
  const auto lock = things_.Lock("job", {.wait = 5min});
  EXPECT_TRUE(lock.held());
}

INSTANTIATE_TEST_SUITE_P(Hours, MongoClock, ::testing::Values(3600, -3600),
                         [](const auto& tested) { return tested.param > 0 ? "Ahead" : "Behind"; });

}  // namespace
}  // namespace doclock::mongo_test
