// Locks whose times cannot be compared with this boot's clock.

#include "sqlite/locks/lease_evaluator.h"

#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {
namespace {

using sqlite::LeaseEvaluator;
using sqlite::LockColumns;

constexpr std::int64_t kThisBoot = 7, kFormerBoot = 5;
constexpr std::int64_t kMostRemembered = 100'000;

class SqliteJudge : public SqliteTest {
 protected:
  static TimePoint At(std::chrono::seconds time) { return TimePoint(1h + time); }

  /// A detached lock of before the machine was started anew.
  LockColumns Stale(std::int64_t doc) {
    LockColumns lock;
    lock.doc = doc;
    lock.id = id_;
    lock.version = 1;
    lock.time = 5h;
    lock.ttl = 30s;
    lock.boot = kFormerBoot;
    return lock;
  }
  /// How many of the first `count` are live.
  std::int64_t Scan(std::int64_t count, std::chrono::seconds time) {
    std::int64_t live = 0;
    for (std::int64_t doc = 1; doc <= count; ++doc) {
      if (evaluator_.LockOf(collection_, Stale(doc), At(time)).IsLive(At(time))) ++live;
    }
    return live;
  }

  Client client_{file_};
  std::unique_ptr<sqlite::ProcessCoordinator> coordinator_ =
      sqlite::ProcessCoordinator::Open(file_, sqlite::DeadlineIn(10s));
  LeaseEvaluator evaluator_{*coordinator_, kThisBoot};
  sqlite::SqliteCollection collection_{"things", {}, 30s, 0};
  const Uuid id_ = NewUuid();
};

TEST_F(SqliteJudge, ScansOverMoreStaleLocksThanItRemembersDoNotKeepThemLiveForEver) {
  const std::int64_t all = kMostRemembered + 1000;
  EXPECT_EQ(Scan(all, 0s), all);
  EXPECT_EQ(Scan(all, 20s), all);
  EXPECT_EQ(Scan(all, 31s), 1000) << "no observation may have been dropped for another";
  // Those that were over for a while make room, and then the rest is observed, too.
  EXPECT_EQ(Scan(all, 300s), 1000);
  std::int64_t late = 0;
  for (std::int64_t doc = kMostRemembered + 1; doc <= all; ++doc) {
    if (evaluator_.LockOf(collection_, Stale(doc), At(331s)).IsLive(At(331s))) ++late;
  }
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace doclock::sqlite_test
