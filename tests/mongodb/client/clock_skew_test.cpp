// The difference of the members' clocks counts while one of them is away, since it may come back as
// the primary. It does not count any more once that member is removed, or cannot become the
// primary.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "mongodb/client/clocks.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fake_server.h"

namespace doclock::mongo_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A set of two; its first member is the primary.
struct FakeSet {
  std::array<std::atomic<int>, 2> ports{};
  std::atomic<bool> second_is_removed = false;
  std::atomic<const char*> second_is = nullptr;  ///< "passive" or "hidden".

  [[nodiscard]] std::string HostOf(std::size_t member) const {
    return "127.0.0.1:" + std::to_string(ports.at(member));
  }
};

/// A member whose clock is ahead by so much.
FakeServer::Answer MemberOf(const FakeSet& set, std::size_t self, std::chrono::milliseconds ahead) {
  return [&set, self, ahead](std::string_view command) {
    mongodb::Doc answer;
    answer.Add("ok", 1.0);
    if (command == "aggregate") {
      mongodb::Doc cursor;
      cursor.Add("firstBatch", mongodb::Array()).Add("id", std::int64_t{0});
      answer.Add("cursor", cursor.Add("ns", "test.things"));
      return answer;
    }
    const bool primary = self == 0;
    mongodb::Array hosts, passives;
    hosts.Add(set.HostOf(0));
    const char* const second_is = set.second_is;
    if (second_is != nullptr) {
      if (std::string_view(second_is) == "passive") passives.Add(set.HostOf(1));
      if (!primary) answer.Add(second_is, true).Add("passive", true);
    } else if (!set.second_is_removed) {
      hosts.Add(set.HostOf(1));
    }
    answer.Add("helloOk", true).Add("ismaster", primary).Add("isWritablePrimary", primary);
    answer.Add("secondary", !primary).Add("setName", "fake").Add("setVersion", 1);
    answer.Add("hosts", hosts).Add("passives", passives);
    answer.Add("me", set.HostOf(self));
    answer.Add("minWireVersion", 0).Add("maxWireVersion", 17);
    answer.Add("maxBsonObjectSize", 16 << 20).Add("maxMessageSizeBytes", 48'000'000);
    answer.Add("maxWriteBatchSize", 100'000);
    const auto now = std::chrono::system_clock::now().time_since_epoch() + ahead;
    bson_append_date_time(answer.get(), "localTime", -1,
                          std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
    return answer;
  };
}

class MongodbClockSkewOf : public ::testing::Test {
 protected:
  MongodbClockSkewOf() {
    set_.ports[0] = primary_->port();
    set_.ports[1] = secondary_->port();
  }
  [[nodiscard]] std::string Uri() const {
    return "mongodb://" + set_.HostOf(0) + "," + set_.HostOf(1) +
           "/test?replicaSet=fake&heartbeatFrequencyMS=500";
  }
  /// Measures until that is so.
  template <class Condition>
  static bool Eventually(mongodb::Clocks& clocks, const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + 1min;
    while (std::chrono::steady_clock::now() < end) {
      if (condition(clocks.Measure(2s))) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  FakeSet set_;
  std::unique_ptr<FakeServer> primary_ = std::make_unique<FakeServer>(MemberOf(set_, 0, 0ms));
  std::unique_ptr<FakeServer> secondary_ = std::make_unique<FakeServer>(MemberOf(set_, 1, 1h));
};

TEST_F(MongodbClockSkewOf, AMemberThatIsAwayIsNotForgotten) {
  mongodb::Server server(Uri(), {});
  mongodb::Clocks clocks(server);
  ASSERT_TRUE(Eventually(clocks, [](bool complete) { return complete; }));
  EXPECT_GT(clocks.skew().most, 50min) << "told as complete without one of them";
  EXPECT_EQ(clocks.skew().ahead, set_.HostOf(1));
  EXPECT_EQ(clocks.skew().behind, set_.HostOf(0));
  secondary_ = nullptr;
  ASSERT_TRUE(Eventually(clocks, [](bool complete) { return !complete; }));
  EXPECT_FALSE(clocks.Measure(2s)) << "a member is away";
  EXPECT_GT(clocks.skew().most, 50min);
}

TEST_F(MongodbClockSkewOf, AMemberThatWasRemovedIsForgotten) {
  mongodb::Server server(Uri(), {});
  mongodb::Clocks clocks(server);
  ASSERT_TRUE(Eventually(clocks, [](bool complete) { return complete; }));
  ASSERT_GT(clocks.skew().most, 50min);
  set_.second_is_removed = true;
  EXPECT_TRUE(
      Eventually(clocks, [&](bool complete) { return complete && clocks.skew().most == 0ns; }));
}

TEST_F(MongodbClockSkewOf, AMemberThatCannotBecomeThePrimaryDoesNotCount) {
  for (const char* role : {"passive", "hidden"}) {
    SCOPED_TRACE(role);
    set_.second_is = nullptr;
    mongodb::Server server(Uri(), {});
    mongodb::Clocks clocks(server);
    ASSERT_TRUE(Eventually(clocks, [&](bool complete) { return complete; }));
    ASSERT_GT(clocks.skew().most, 50min);
    set_.second_is = role;
    EXPECT_TRUE(
        Eventually(clocks, [&](bool complete) { return complete && clocks.skew().most == 0ns; }));
  }
}

TEST_F(MongodbClockSkewOf, MoreThanALeaseRefusesLocksAndNamesTheMembers) {
  Client client(OpenMongodbStore(Uri()));
  const Key key("a");
  // The driver may find the second member a moment later.
  for (int i = 0; i < 600 && client.store().traits().clock_margin < 50min; ++i) {
    std::this_thread::sleep_for(100ms);
  }
  const AcquireOp op = client.Acquire(key, NewUuid());
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  EXPECT_THAT(Why(op), AllOf(HasSubstr("clocks differ by 3600"), HasSubstr("NTP"),
                             HasSubstr(set_.HostOf(1) + " is ahead of " + set_.HostOf(0))));
  AcquireOp next(client.collection(), key);
  next.request.grant.ttl = kTtl;
  Key found;
  client.store().AcquireNext(Filter{}, next, found, 1s);
  EXPECT_THAT(Why(next), HasSubstr("clocks differ"));
}

}  // namespace
}  // namespace doclock::mongo_test
