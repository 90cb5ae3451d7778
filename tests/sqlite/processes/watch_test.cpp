// Notifications: a release in one process wakes the waiters of the others.

#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "doclock/locking_repository.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"

namespace doclock::sqlite_test {
namespace {

/// Collects hints.
class Hints {
 public:
  HintListener Sink() {
    return [this](const LockHint& hint) {
      const std::lock_guard guard(mutex_);
      last_time_ = BootClock::now();
      hints_.push_back(hint.hash);
      changed_.notify_all();
    };
  }
  /// Waits for a hint about this key, or about any.
  bool Await(const Key& key) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 5min, [&] {
      return std::any_of(hints_.begin(), hints_.end(),
                         [&](const auto& hash) { return !hash || *hash == key.Hash(); });
    });
  }
  void Clear() {
    const std::lock_guard guard(mutex_);
    hints_.clear();
  }
  TimePoint last_time() {
    const std::lock_guard guard(mutex_);
    return last_time_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<std::size_t>> hints_;
  TimePoint last_time_{};
};

class SqliteWatch : public SqliteTest {
 protected:
  void SetUp() override {
    DOCLOCK_NEEDS_COORDINATOR();
    Client(file_).Insert("1");
  }
  Hints hints_;
};

TEST_F(SqliteWatch, AHintMayWatchAnotherCollection) {
  Client client(file_, {.sync = SqliteSync::kNormal}), other(file_, {.sync = SqliteSync::kNormal});
  const auto others = client.store().Open("others", {}, 30s);
  std::unique_ptr<Subscription> second, third;
  std::jthread watcher;  // watches the hinted collection at the same time, which waits for the hint
  const auto watch =
      client.store().Watch(client.collection(), [&, tell = hints_.Sink()](const LockHint& hint) {
        if (!second) {
          watcher = std::jthread(
              [&] { third = client.store().Watch(client.collection(), [](const LockHint&) {}); });
          std::this_thread::sleep_for(20ms);
          second = client.store().Watch(*others, [](const LockHint&) {});
        }
        tell(hint);
      });
  other.Release("1", other.Acquire("1"));
  EXPECT_TRUE(hints_.Await("1"));
}

TEST_F(SqliteWatch, AReleaseInAnotherProcessIsHintedAt) {
  Client client(file_, {.sync = SqliteSync::kNormal});
  const auto watch = client.store().Watch(client.collection(), hints_.Sink());
  Child holder({"hold", file_.string(), "1", "30000", "bound"});
  std::vector<double> microseconds;
  for (int i = 0; i < Rounds(100); ++i) {
    ASSERT_TRUE(holder.Line().value_or("dead").starts_with("held"));
    hints_.Clear();
    std::this_thread::sleep_for(1ms);
    holder.Say("release");
    const std::string line = holder.Line().value_or("");
    ASSERT_TRUE(line.starts_with("released ")) << line;
    ASSERT_TRUE(hints_.Await("1"));
    const std::chrono::nanoseconds released(std::stoll(line.substr(9)));
    microseconds.push_back(
        static_cast<double>((hints_.last_time().time_since_epoch() - released).count()) / 1000);
    holder.Say("acquire");
  }
  std::sort(microseconds.begin(), microseconds.end());
  std::cout << "[figures] hint after the release returned, us: p50 "
            << microseconds[microseconds.size() / 2] << ", p90 "
            << microseconds[microseconds.size() * 9 / 10] << "\n";
}

TEST_F(SqliteWatch, ReleasesOfOnesOwnAreHintedAtToo) {
  Client client(file_);
  const auto watch = client.store().Watch(client.collection(), hints_.Sink());
  client.Release("1", client.Acquire("1"));
  EXPECT_TRUE(hints_.Await("1"));
}

TEST_F(SqliteWatch, ADeathIsHintedAt) {
  Client client(file_);
  Child holder({"hold", file_.string(), "1", "3600000", "bound"});
  ASSERT_TRUE(holder.Line().value_or("dead").starts_with("held"));
  const auto watch = client.store().Watch(client.collection(), hints_.Sink());
  const auto killed = std::chrono::steady_clock::now();
  holder.Kill();
  ASSERT_TRUE(hints_.Await("1"));
  std::cout << "[figures] hint after the kill, ms: "
            << (std::chrono::steady_clock::now() - killed) / 1ms << "\n";
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kDone);
}

TEST_F(SqliteWatch, AWaiterIsGrantedTheLockOfTheDeadSoon) {
  const LockingRepository<nlohmann::json> things(LockManager(OpenSqliteStore(file_)), "things");
  for (int i = 0; i < 3; ++i) {
    Child holder({"hold", file_.string(), "1", "3600000", "bound"});
    ASSERT_TRUE(holder.Line().value_or("dead").starts_with("held"));
    auto waiter = things.LockAsync("1", {.wait = 10min});
    EXPECT_EQ(waiter.wait_for(300ms), std::future_status::timeout);
    const auto killed = std::chrono::steady_clock::now();
    holder.Kill();
    auto handle = waiter.get();
    std::cout << "[figures] granted after the kill, ms: "
              << (std::chrono::steady_clock::now() - killed) / 1ms << "\n";
    handle.Release();
  }
}

TEST_F(SqliteWatch, OthersAreSeenWhileTheyWatch) {
  Client one(file_), two(file_);
  EXPECT_FALSE(one.store().traits().others_may_wait);
  auto watch = two.store().Watch(two.collection(), hints_.Sink());
  EXPECT_TRUE(one.store().traits().others_may_wait);
  EXPECT_FALSE(two.store().traits().others_may_wait);
  watch.reset();
  EXPECT_FALSE(one.store().traits().others_may_wait);
}

TEST_F(SqliteWatch, NoHintComesAfterTheEndOfASubscription) {
  Client client(file_);
  for (int i = 0; i < 20; ++i) {
    auto alive = std::make_shared<bool>(true);
    std::weak_ptr<bool> seen = alive;
    auto watch = client.store().Watch(client.collection(), [alive](auto) { *alive = true; });
    client.Release("1", client.Acquire("1"));
    watch.reset();
    alive.reset();
    EXPECT_TRUE(seen.expired());
  }
}

TEST_F(SqliteWatch, ManyReleasesAtOnceLoseNoneOfTheKeys) {
  Client client(file_, {.sync = SqliteSync::kNormal});
  const auto watch = client.store().Watch(client.collection(), hints_.Sink());
  for (int i = 0; i < 600; ++i) {
    hints_.Clear();
    client.Release(i, client.Create(i));
    if (i % 100 == 0) {
      EXPECT_TRUE(hints_.Await(i)) << i;
    }
  }
}

TEST_F(SqliteWatch, WithoutAThreadIsAnErrorAndNoDeadlock) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more memory than a limit leaves";
  Child child({"deaf", file_.string()});
  EXPECT_EQ(child.Line(), "unavailable");
  EXPECT_EQ(child.Line(), "watching");
}

}  // namespace
}  // namespace doclock::sqlite_test
