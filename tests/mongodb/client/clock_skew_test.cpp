// The difference of the members' clocks still counts while one of them is away: it may come back
// as the primary.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "mongodb/client/clocks.h"
#include "mongodb/support/fake_server.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;

/// The ports of a set of two; its first member is the primary.
using Ports = std::array<std::atomic<int>, 2>;

std::string HostOf(const Ports& ports, std::size_t member) {
  return "127.0.0.1:" + std::to_string(ports.at(member));
}

/// A member whose clock is ahead by so much.
FakeServer::Answer MemberOf(const Ports& ports, std::size_t self, std::chrono::milliseconds ahead) {
  return [&ports, self, ahead](std::string_view command) {
    mongodb::Doc answer;
    answer.Add("ok", 1.0);
    if (command == "aggregate") {
      mongodb::Doc cursor;
      cursor.AddArray("firstBatch", mongodb::Array().doc()).Add("id", std::int64_t{0});
      answer.Add("cursor", cursor.Add("ns", "test.things"));
      return answer;
    }
    const bool primary = self == 0;
    mongodb::Array hosts;
    hosts.Add(HostOf(ports, 0)).Add(HostOf(ports, 1));
    answer.Add("helloOk", true).Add("ismaster", primary).Add("isWritablePrimary", primary);
    answer.Add("secondary", !primary).Add("setName", "fake").Add("setVersion", 1);
    answer.AddArray("hosts", hosts.doc()).Add("me", HostOf(ports, self));
    answer.Add("minWireVersion", 0).Add("maxWireVersion", 17);
    answer.Add("maxBsonObjectSize", 16 << 20).Add("maxMessageSizeBytes", 48'000'000);
    answer.Add("maxWriteBatchSize", 100'000);
    const auto now = std::chrono::system_clock::now().time_since_epoch() + ahead;
    bson_append_date_time(answer.get(), "localTime", -1,
                          std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
    return answer;
  };
}

TEST(MongodbClockSkewOf, AMemberThatIsAwayIsNotForgotten) {
  Ports ports{};
  const FakeServer primary(MemberOf(ports, 0, 0ms));
  auto secondary = std::make_unique<FakeServer>(MemberOf(ports, 1, 1h));
  ports[0] = primary.port();
  ports[1] = secondary->port();
  mongodb::Server server("mongodb://" + HostOf(ports, 0) + "," + HostOf(ports, 1) +
                             "/test?replicaSet=fake&heartbeatFrequencyMS=500",
                         {});
  mongodb::Clocks clocks(server);
  const auto end = std::chrono::steady_clock::now() + 1min;
  while (!clocks.Measure(2s) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_GT(clocks.skew(), 50min) << "told as complete without one of them";
  secondary = nullptr;
  while (clocks.Measure(2s) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_FALSE(clocks.Measure(2s)) << "a member is away";
  EXPECT_GT(clocks.skew(), 50min);
}

}  // namespace
}  // namespace doclock::mongo_test
