// Answers that a pooler or a proxy mixes up.

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "conformance/suite/client.h"
#include "doclock/doclock.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/client/pool.h"
#include "postgresql/support/proxy.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ContainsRegex;

class PostgresqlAnswers : public ::testing::Test {
 protected:
  using Documents = LockingRepository<json>;

  postgresql::Url url() const { return postgresql::ParseUrl(proxy_.Before(schema_.url())); }
  static locking::Deadline Soon() { return std::chrono::steady_clock::now() + 10s; }

  Schema schema_;
  Proxy proxy_{std::stoi(DOCLOCK_POSTGRESQL_PORT)};
};

/// A pooler takes the server's session away after the first end of a pipeline.
TEST_F(PostgresqlAnswers, AreAwaitedBeforeMoreIsAsked) {
  const LockManager ours{OpenPostgresqlStore(proxy_.Before(schema_.url()))};
  const LockManager theirs{OpenPostgresqlStore(proxy_.Before(schema_.url()))};
  const Documents here(ours, "orders"), there(theirs, "orders");
  for (const char* key : {"7", "8"}) here.Insert(key, json({{"n", 1}}));
  auto held = here.Lock("7");
  EXPECT_FALSE(there.TryLock("7"));
  EXPECT_THROW(there.Insert("7", json({{"n", 1}})), ConflictException);
  EXPECT_EQ(there.Find(Filter()).size(), 2U);
  EXPECT_TRUE(there.TryLockNext(Filter().Equal("n", 1)));
  EXPECT_TRUE(std::get<1>(Read(here.At("7"), here.At("8"))));
  std::jthread waiter([&] { there.Lock("7", {.wait = 1min}).Release(); });
  while (schema_.raw().Run("SELECT count(lock_queue) FROM doclock_c_orders") == "0") {
    std::this_thread::yield();
  }
  Transaction transaction(ours);
  transaction.Release(held);
  Join(transaction, [](PGconn* connection) { PQclear(PQexec(connection, "SELECT 1")); });
  transaction.Commit();
  waiter.join();
  EXPECT_EQ(proxy_.most_in_flight(), 1);
  // Poolers send statements that seem to change nothing to standbys, or keep their answers.
  for (const std::string& statement : proxy_.statements()) {
    const bool reads = statement.starts_with("SELECT") && statement != "SELECT 1" &&
                       statement != "SELECT $1::int8";
    if (!reads) continue;
    EXPECT_THAT(statement,
                ContainsRegex("clock_timestamp|set_config|advisory|notify|pg_current_xact_id"));
  }
}

TEST_F(PostgresqlAnswers, OfTwoClientsThatChangePlacesAreNotBelieved) {
  const LockManager ours{OpenPostgresqlStore(proxy_.Before(schema_.url()))};
  const LockManager theirs{OpenPostgresqlStore(proxy_.Before(schema_.url()))};
  const Documents here(ours, "orders"), there(theirs, "orders");
  for (const char* key : {"7", "8"}) here.Insert(key, json({{"me", key}}));
  for (const char* key : {"7", "8"}) EXPECT_TRUE(there.Find(key));
  proxy_.Meddle({Fault::kExchange, Fault::kExchange});
  std::jthread other([&] { EXPECT_EQ(there.Find("8").value()->at("me"), "8"); });
  EXPECT_EQ(here.Find("7").value()->at("me"), "7");
  other.join();
  EXPECT_EQ(proxy_.faults(), 2);
}

TEST_F(PostgresqlAnswers, ThatComeAgainLateOrNotAreNotBelieved) {
  const LockManager manager{OpenPostgresqlStore(proxy_.Before(schema_.url()))};
  const Documents orders(manager, "orders");
  for (const char* key : {"7", "8"}) orders.Insert(key, json({{"me", key}}));
  for (const Fault fault : {Fault::kRepeat, Fault::kEarlier}) {
    for (int i = 0; i < 3; ++i) {
      for (const std::string key : {"7", "8"}) {
        proxy_.Meddle({fault});
        EXPECT_EQ(orders.Find(key).value()->at("me"), key);
        auto held = orders.Lock(key);
        EXPECT_EQ(held->at("me"), key);
        proxy_.Meddle({fault});
        held.Save();
        held.Release();
        EXPECT_FALSE(orders.Find("none"));
      }
    }
  }
  EXPECT_EQ(proxy_.faults(), 24);
}

TEST_F(PostgresqlAnswers, LoseTheConnectionIfTheyAreNotThoseToItsQuestions) {
  postgresql::Connection connection(url(), Soon());
  connection.SendOnce("SELECT 1");
  EXPECT_EQ(connection.Run(Soon()).back().Number(0, 0), 1);
  proxy_.Meddle({Fault::kEarlier});
  connection.SendOnce("SELECT 2");
  try {
    connection.Run(Soon());
    ADD_FAILURE() << "it was believed";
  } catch (const postgresql::Loss& loss) {
    EXPECT_THAT(loss.text, ::testing::HasSubstr("mix up its clients"));
  }
  EXPECT_TRUE(connection.is_lost());
  EXPECT_FALSE(connection.IsIdle());
}

TEST_F(PostgresqlAnswers, ThatComeUnaskedLoseTheConnection) {
  postgresql::Connection connection(url(), Soon());
  proxy_.Meddle({Fault::kRepeat});
  connection.SendOnce("SELECT 1");
  connection.Run(Soon());
  while (connection.IsIdle()) std::this_thread::yield();
  connection.SendOnce("SELECT 2");
  EXPECT_THROW(connection.Run(Soon()), postgresql::Loss);
}

TEST_F(PostgresqlAnswers, WithValuesOfAnotherTypeAreRefused) {
  postgresql::Connection connection(url(), Soon());
  const auto ask = [&](const std::string& sql) {
    connection.SendOnce(sql);
    return std::move(connection.Run(Soon()).back());
  };
  using postgresql::Loss;
  using postgresql::Result;
  EXPECT_THROW(static_cast<void>(ask("SELECT 'text'::text").Number(0, 0)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT NULL::int8").Number(0, 0)), Loss);
  EXPECT_EQ(ask("SELECT NULL::int8").NumberIfAny(0, 0), 0);
  EXPECT_THROW(static_cast<void>(ask("SELECT 1.5::float8").Number(0, 0)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT 1").Number(0, 1)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT 1").Number(1, 0)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT 1 WHERE false").IsNull(0, 0)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT 1").Text(0, 0)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT '1'::text").Jsonb(0, 0)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT '1'::text").Id(0, 0)), Loss);
  EXPECT_THROW(static_cast<void>(ask("SELECT 7").NumberWithin(0, 0, 1, 6)), Loss);
  EXPECT_EQ(ask("SELECT 7").NumberWithin(0, 0, 1, 7), 7);
  EXPECT_EQ(ask("SELECT current_schema()").Text(0, 0), schema_.name());
  EXPECT_FALSE(connection.is_lost());
  connection.Command("SELECT 1");
  EXPECT_THROW(connection.Run(Soon()), Loss) << "rows, where none were asked for";
}

TEST_F(PostgresqlAnswers, WhoseEpochIsOutOfItsRangeAreRefused) {
  const LockManager manager{OpenPostgresqlStore(schema_.url())};
  Documents(manager, "orders").Insert("7", json({{"n", 1}}));
  for (const char* const value : {"-1", "9223372036854775807", "36028797018963968"}) {
    schema_.raw().Run("UPDATE doclock_meta SET value = '" + std::string(value) +
                      "' WHERE name LIKE 'epoch of %'");
    const LockManager other{OpenPostgresqlStore(schema_.url())};
    try {
      const auto held = Documents(other, "orders").Lock("7");
      ADD_FAILURE() << value;
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("out of its range"));
    }
  }
}

/// One document that its client alone changes, whatever becomes of the answers.
class Owned {
 public:
  /// @param free frees a document, by its name
  Owned(conformance::Client& client, std::string name, std::function<void(const std::string&)> free)
      : client_(client), name_(std::move(name)), key_(name_), free_(std::move(free)) {}

  void Turn() {
    const ReadOp read = client_.Read(key_);
    EXPECT_TRUE(read.status != OpStatus::kMissing || count_ == 0) << name_ << " is not there";
    if (read.status == OpStatus::kDone) Check(read.result.body, read.result.version);
    AcquireOp take = client_.AcquireOf(
        key_, {.insert = Body::FromJson({{"me", name_}, {"n", 0}}), .ttl = 10min});
    for (Until(take, OpStatus::kBusy); take.status == OpStatus::kBusy;) {
      free_(name_);  // an acquire of before, whose answer was not awaited, was carried out since
      Until(take, OpStatus::kBusy);
    }
    Check(take.result.body, take.result.version);
    EXPECT_GT(take.result.version, version_) << "the fence of " << name_;
    version_ = take.result.version;
    WriteOp release =
        client_.ReleaseOf(key_, take.request.grant.lock_id,
                          {.expected = take.result.version,
                           .body = Body::FromJson({{"me", name_}, {"n", count_ + 1}})});
    Until(release,
          OpStatus::kLost);  // the next look at the document proves that it was carried out
    ++count_;
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  /// Tries again what failed or is in doubt, and then becomes done, or what `doubted` allows.
  void Until(auto& op, OpStatus doubted) {
    do {
      op.status = OpStatus::kPending;
      client_.Execute(op);
      is_doubted_ = is_doubted_ || op.status == OpStatus::kInDoubt;
    } while (op.status == OpStatus::kFailed || op.status == OpStatus::kInDoubt);
    EXPECT_TRUE(op.status == OpStatus::kDone || (is_doubted_ && op.status == doubted)) << name_;
  }
  void Check(const Body& body, std::int64_t version) {
    const json value = body.json();
    EXPECT_EQ(value.value("me", ""), name_);
    EXPECT_EQ(value.value("n", -1), count_) << name_;
    EXPECT_GE(version, version_) << name_;
  }

  conformance::Client& client_;
  const std::string name_;
  const Key key_;
  const std::function<void(const std::string&)> free_;
  bool is_doubted_ = false;  ///< Something was, ever.
  int count_ = 0;
  std::int64_t version_ = 0;
};

TEST_F(PostgresqlAnswers, OfManyClientsThatAreMixedUpAreNeverThoseOfAnother) {
  constexpr int kClients = 4, kDocuments = 3, kTurns = 40;
  for (const unsigned seed : {1U, 2U}) {
    SCOPED_TRACE(seed);
    const std::string collection = "things" + std::to_string(seed);
    std::deque<conformance::Client> sides;
    for (int i = 0; i < 2; ++i) {
      sides.emplace_back(OpenPostgresqlStore(proxy_.Before(schema_.url())), collection, 2s);
    }
    proxy_.MeddleAtRandom(12, seed);
    std::atomic<int> turns = 0;
    std::mutex raw_mutex;
    const auto free = [&](const std::string& name) {
      const std::lock_guard guard(raw_mutex);
      schema_.raw().Run("UPDATE doclock_c_" + collection +
                        " SET lock_id = NULL WHERE key_text = '" + name + "'");
    };
    std::vector<Owned> all;
    for (int i = 0; i < kClients * kDocuments; ++i) {
      all.emplace_back(sides[static_cast<std::size_t>(i % 2)], "k" + std::to_string(i), free);
    }
    {
      std::vector<std::jthread> clients;
      for (int i = 0; i < kClients; ++i) {
        clients.emplace_back([&, i] {
          for (int turn = 0; turn < kTurns; ++turn) {
            all[static_cast<std::size_t>(i + kClients * (turn % kDocuments))].Turn();
            ++turns;
          }
        });
      }
    }
    proxy_.MeddleAtRandom(0);
    EXPECT_EQ(turns, kClients * kTurns);
    for (const Owned& one : all) {
      EXPECT_EQ(schema_.raw().Run("SELECT (body ->> 'me') || (body ->> 'n') FROM doclock_c_" +
                                  collection + " WHERE key_text = '" + one.name() + "'"),
                one.name() + std::to_string(one.count()));
    }
  }
  EXPECT_GT(proxy_.faults(), 20);
}

}  // namespace
}  // namespace doclock::postgresql_test
