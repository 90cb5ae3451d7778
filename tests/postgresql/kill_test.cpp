#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "conformance/suite/client.h"
#include "doclock/doclock.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using conformance::Client;

constexpr std::chrono::milliseconds kShortTtl = 500ms;
constexpr std::chrono::milliseconds kCallBudget = 5s;
constexpr int kDocuments = 4;

/// A document that counts the releases that were acknowledged.
struct Counter {
  Key key;
  std::atomic<int> acknowledged = 0;
  std::atomic<int> in_doubt = 0;
};

/// Threads that count up documents under the lock, over two stores, whatever happens to the server.
class Counting {
 public:
  explicit Counting(const std::string& url)
      : clients_{Client(OpenPostgresqlStore(url), "things", kCallBudget),
                 Client(OpenPostgresqlStore(url), "things", kCallBudget)} {
    for (int i = 0; i < kDocuments; ++i) counters_[i].key = Key(i);
    for (int i = 0; i < 8; ++i) {
      threads_.emplace_back([this, i](const std::stop_token& stop) {
        for (int turn = i; !stop.stop_requested(); ++turn) {
          CountUp(clients_[i % 2], counters_[turn % kDocuments]);
        }
      });
    }
  }

  /// Waits until so many more releases were acknowledged.
  void Await(int more) {
    const int wanted = acknowledged_ + more;
    const auto deadline = std::chrono::steady_clock::now() + 2min;
    while (acknowledged_ < wanted) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(1ms);
    }
  }

  /// Ends the threads, and compares what they were told with what is stored.
  void ExpectNothingLost() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
    for (Counter& counter : counters_) {
      const ReadOp read = clients_[0].Read(counter.key);  // its connection may be about to end
      ASSERT_EQ(read.status, OpStatus::kDone);
      const int count = read.result.body.json().at("count");
      EXPECT_GE(count, counter.acknowledged);
      EXPECT_LE(count, counter.acknowledged + counter.in_doubt);
    }
  }

 private:
  void CountUp(Client& client, Counter& counter) {
    const AcquireOp take =
        client.Acquire(counter.key, {.insert = Body::FromJson({{"count", 0}}), .ttl = kShortTtl});
    if (take.status != OpStatus::kDone) return std::this_thread::yield();
    const WriteOp release = client.Release(
        counter.key, take,
        Body::FromJson({{"count", take.result.body.json().at("count").get<int>() + 1}}));
    if (release.status == OpStatus::kInDoubt) ++counter.in_doubt;
    if (release.status != OpStatus::kDone) return;
    ++counter.acknowledged;
    ++acknowledged_;
  }

  Client clients_[2];
  Counter counters_[kDocuments];
  std::atomic<int> acknowledged_ = 0;
  std::vector<std::jthread> threads_;
};

TEST(PostgresqlKill, ABackendThatEndsLosesNothing) {
  Schema schema;
  Counting counting(schema.url() + "&application_name=counting");  // others use the server too
  for (int round = 0; round < 20; ++round) {
    ASSERT_NO_FATAL_FAILURE(counting.Await(20));
    // Half of them, at whatever they are.
    schema.raw().Run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid % 2 = " +
        std::to_string(round % 2) + " AND application_name = 'counting'");
  }
  counting.ExpectNothingLost();
}

TEST(PostgresqlKill, ABackendThatEndsLeavesNoHalfOfATransaction) {
  Schema schema;
  const LockManager movers(OpenPostgresqlStore(schema.url() + "&application_name=moving"));
  const LockManager readers(OpenPostgresqlStore(schema.url()));
  using Documents = LockingRepository<nlohmann::json>;
  const Documents from(readers, "from"), to(readers, "to");
  from.Insert("a", {{"n", 0}});
  to.Insert("a", {{"n", 0}});
  std::atomic<int> moved = 0;
  const std::jthread moving([&](const std::stop_token& stop) {
    const Documents theirs(movers, "from"), others(movers, "to");
    while (!stop.stop_requested()) {
      try {
        auto [a, b] = LockAll({.ttl = kShortTtl, .wait = 1min}, theirs.At("a"), others.At("a"));
        a->at("n") = a->at("n").get<int>() - 1;
        b->at("n") = b->at("n").get<int>() + 1;
        Transaction(movers).Release(a, b).Commit();
        ++moved;
      } catch (const Error&) {  // its backend was ended
      }
    }
  });
  for (int round = 0; round < 20; ++round) {
    for (const int wanted = moved + 3; moved < wanted;) std::this_thread::sleep_for(1ms);
    schema.raw().Run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name = 'moving'");
    const int acknowledged = moved;
    const auto [a, b] = Read(from.At("a"), to.At("a"));
    EXPECT_EQ((*a)->at("n").get<int>() + (*b)->at("n").get<int>(), 0);
    EXPECT_GE((*b)->at("n").get<int>(), acknowledged);
  }
}

TEST(PostgresqlKill, AServerThatIsKilledLosesNothingThatWasAcknowledged) {
  const auto run = [](const std::string& command) {
    const std::string line = "DOCLOCK_POSTGRESQL_HOME=" DOCLOCK_POSTGRESQL_FAILOVER_HOME
                             " DOCLOCK_POSTGRESQL_PORT=" DOCLOCK_POSTGRESQL_FAILOVER_PORT
                             " " DOCLOCK_POSTGRESQL_SCRIPT " " +
                             command + " > /dev/null";
    ASSERT_EQ(std::system(line.c_str()), 0);
  };
  const std::string url =
      std::string(DOCLOCK_POSTGRESQL_FAILOVER_URL) + "?options=-csearch_path%3Dkilled";
  run("revive");  // an earlier run may have failed
  RawServer(DOCLOCK_POSTGRESQL_FAILOVER_URL).Run("DROP SCHEMA IF EXISTS killed CASCADE");
  RawServer(DOCLOCK_POSTGRESQL_FAILOVER_URL).Run("CREATE SCHEMA killed");
  Counting counting(url);
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(counting.Await(100));
    ASSERT_NO_FATAL_FAILURE(run("kill"));
    ASSERT_NO_FATAL_FAILURE(run("revive"));
  }
  ASSERT_NO_FATAL_FAILURE(counting.Await(100));
  counting.ExpectNothingLost();
}

}  // namespace
}  // namespace doclock::postgresql_test
