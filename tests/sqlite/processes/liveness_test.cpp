// Whose process is dead holds nothing; whose clock differs holds what he held.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

namespace fs = std::filesystem;

class SqliteLiveness : public SqliteTest {
 protected:
  void SetUp() override {
    DOCLOCK_NEEDS_COORDINATOR();
    Client(file_).Insert("1");
  }
  Child Holder(const char* bound = "bound") {
    Child holder({"hold", file_.string(), "1", "3600000", bound});
    EXPECT_TRUE(holder.Line().value_or("dead").starts_with("held"));
    return holder;
  }
};

TEST_F(SqliteLiveness, TheLockOfTheDeadIsFree) {
  Client client(file_);
  Child holder = Holder();
  const AcquireOp busy = client.Acquire("1");
  ASSERT_EQ(busy.status, OpStatus::kBusy);
  EXPECT_GT(busy.detail->remaining, 3500s);
  holder.Kill();
  const AcquireOp held = client.Acquire("1");
  EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_TRUE(held.result.took_over);
  EXPECT_GT(held.result.version, 2);
}

TEST_F(SqliteLiveness, TheLockOfTheStoppedIsNot) {
  Client client(file_);
  Child holder = Holder();
  holder.Signal(SIGSTOP);
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kBusy);
  holder.Signal(SIGCONT);
}

TEST_F(SqliteLiveness, ADetachedLockOutlivesItsProcess) {
  Client client(file_);
  Child holder = Holder("detached");
  holder.Kill();
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kBusy);
}

TEST_F(SqliteLiveness, ALockIsDetachedByARenewalThatSaysSo) {
  Client client(file_);
  AcquireOp held = [&] {
    Client other(file_);
    AcquireOp op = other.Acquire("1", {.ttl = 1h});
    EXPECT_EQ(other.Renew("1", op.request.grant.lock_id, 1h).status, OpStatus::kDone);
    EXPECT_EQ(
        other.Renew("1", op.request.grant.lock_id, 1h, LockMode::kExclusive, /*detached=*/true)
            .status,
        OpStatus::kDone);
    return op;
  }();
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kBusy) << "its store is closed, its lease is not";
  EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone);
}

TEST_F(SqliteLiveness, AClosedStoresLockIsFree) {
  { EXPECT_EQ(Client(file_).Acquire("1", {.ttl = 1h}).status, OpStatus::kDone); }
  EXPECT_EQ(Client(file_).Acquire("1").status, OpStatus::kDone);
}

/// Renewals by another client (of a group, for one) hang on the life of the holder too.
TEST_F(SqliteLiveness, ARenewalByAnotherClientRevivesNoLockOfTheDead) {
  Client client(file_);
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    auto holder = std::make_unique<Client>(file_);
    const AcquireOp held =
        mode == LockMode::kShared ? holder->Share("1") : holder->Acquire("1", {.ttl = 1h});
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    const Key key("1");
    const auto renew = [&] {
      RenewOp op = client.RenewOf(key, held.request.grant.lock_id, 1h);
      op.request.keep_process = true;
      op.request.mode = mode;
      client.Execute(op);
      return op.status;
    };
    EXPECT_EQ(renew(), OpStatus::kDone);
    EXPECT_EQ(renew(), OpStatus::kDone);
    holder.reset();
    EXPECT_EQ(renew(), OpStatus::kLost);
    const AcquireOp next = client.Acquire("1");
    ASSERT_EQ(next.status, OpStatus::kDone) << Why(next);
    EXPECT_EQ(client.Release("1", next).status, OpStatus::kDone);
  }
}

TEST_F(SqliteLiveness, TwoStoresOfOneProcessExcludeEachOther) {
  Client one(file_), two(file_);
  const AcquireOp held = one.Acquire("1");
  EXPECT_EQ(two.Acquire("1").status, OpStatus::kBusy);
  EXPECT_EQ(one.Release("1", held).status, OpStatus::kDone);
  EXPECT_EQ(two.Acquire("1").status, OpStatus::kDone);
  EXPECT_EQ(one.Acquire("1").status, OpStatus::kBusy);
}

/// A child made by fork alone has a copy of every descriptor; a lock of an open file would live as
/// long as the child.
TEST_F(SqliteLiveness, AForkedChildKeepsNoLockOfItsParentAlive) {
  auto parent = std::make_unique<Client>(file_);
  ASSERT_EQ(parent->Acquire("1", {.ttl = 1h}).status, OpStatus::kDone);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1) << "the child has run what it runs after a fork";
  ::close(ready[0]);
  ::close(ready[1]);
  parent.reset();
  EXPECT_EQ(Client(file_).Acquire("1").status, OpStatus::kDone);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(SqliteLiveness, AForkedChildCannotUseItsParentsStore) {
  Client parent(file_);
  const auto watch = parent.store().Watch(parent.collection(), [](auto) {});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const AcquireOp op = parent.Acquire("1");
    const bool refused = op.status == OpStatus::kFailed && op.detail->code == Errc::kForked;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(parent.Acquire("1").status, OpStatus::kDone);
}

/// Processes whose clocks are a month or two ahead.
class SqliteTimeNamespaces : public SqliteLiveness {
 protected:
  void SetUp() override {
    SqliteLiveness::SetUp();
    if (IsSkipped()) return;
    if (std::system("unshare -T --boottime 5000000 true 2>/dev/null") != 0) {
      GTEST_SKIP() << "no time namespaces here";
    }
  }
  static Child Shifted(std::vector<std::string> arguments) {
    return Child(std::move(arguments),
                 {"unshare", "-T", "--boottime", "5000000", "--fork", "--kill-child"});
  }
  /// The first word of what a shifted process says when it tries to take the lock.
  std::string ShiftedVerdict() {
    const std::string line = Shifted({"try", file_.string(), "1"}).Line().value_or("nothing");
    return line.substr(0, line.find(' '));
  }
  /// How long it takes until another client gets the lock.
  static std::chrono::steady_clock::duration TimeUntil(std::chrono::steady_clock::time_point start,
                                                       const std::function<bool()>& granted) {
    while (!granted() && std::chrono::steady_clock::now() - start < 10min) {
      std::this_thread::sleep_for(10ms);
    }
    return std::chrono::steady_clock::now() - start;
  }
};

TEST_F(SqliteTimeNamespaces, AgreeOnTheTime) {
  Child clock = Shifted({"now"});
  const std::int64_t theirs = std::stoll(clock.Line().value_or("0"));
  const std::int64_t ours = BootClock::now().time_since_epoch() / 1ms;
  EXPECT_NEAR(static_cast<double>(theirs), static_cast<double>(ours), 20'000.0);
}

TEST_F(SqliteTimeNamespaces, SeeALiveLockOfAShiftedHolder) {
  Client client(file_);
  for (const char* bound : {"detached", "bound"}) {
    Child holder = Shifted({"hold", file_.string(), "1", "3600000", bound});
    ASSERT_TRUE(holder.Line().value_or("dead").starts_with("held"));
    const AcquireOp busy = client.Acquire("1");
    ASSERT_EQ(busy.status, OpStatus::kBusy) << bound;
    EXPECT_LE(busy.detail->remaining, 3600s);
    EXPECT_GT(busy.detail->remaining, 3500s);
    holder.Say("release");
    ASSERT_TRUE(holder.Line().value_or("dead").starts_with("released"));
  }
}

TEST_F(SqliteTimeNamespaces, AShiftedObserverSeesALiveLock) {
  Client client(file_);
  for (const bool detached : {false, true}) {
    const AcquireOp held = client.Acquire("1", {.ttl = 1h, .detached = detached});
    ASSERT_EQ(held.status, OpStatus::kDone);
    Child observer = Shifted({"try", file_.string(), "1"});
    const std::string line = observer.Line().value_or("nothing");
    ASSERT_TRUE(line.starts_with("busy ")) << line;
    const std::chrono::milliseconds remaining(std::stoll(line.substr(5)));
    EXPECT_LE(remaining, 3600s);
    EXPECT_GT(remaining, 3500s);
    EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone);
  }
  EXPECT_EQ(ShiftedVerdict(), "held");
}

TEST_F(SqliteTimeNamespaces, AnEndedLeaseIsFreeForBothSidesAndNotBefore) {
  constexpr auto kLease = 1s;
  Client client(file_);
  const auto theirs = std::chrono::steady_clock::now();
  Child holder = Shifted({"hold", file_.string(), "1", "1000", "detached"});
  ASSERT_TRUE(holder.Line().value_or("dead").starts_with("held"));
  EXPECT_GE(TimeUntil(theirs,
                      [&] {
                        return client.Acquire("1", {.ttl = kLease, .detached = true}).status ==
                               OpStatus::kDone;
                      }),
            kLease);
  holder.Kill();

  const auto ours = std::chrono::steady_clock::now();
  const RenewOp renewed = client.Renew("1", client.Read("1").result.lock_id, kLease,
                                       LockMode::kExclusive, /*detached=*/true);
  if (renewed.status != OpStatus::kDone) {  // we were slow; the lease is over
    ASSERT_EQ(client.Acquire("1", {.ttl = kLease, .detached = true}).status, OpStatus::kDone);
  }
  EXPECT_GE(TimeUntil(ours, [&] { return ShiftedVerdict() == "held"; }), kLease);
}

TEST_F(SqliteTimeNamespaces, TheLockOfADeadShiftedHolderIsFree) {
  Client client(file_);
  Child holder = Shifted({"hold", file_.string(), "1", "3600000", "bound"});
  ASSERT_TRUE(holder.Line().value_or("dead").starts_with("held"));
  ASSERT_EQ(client.Acquire("1").status, OpStatus::kBusy);
  holder.Kill();  // what started it; the system kills the holder itself right after
  EXPECT_LT(TimeUntil(std::chrono::steady_clock::now(),
                      [&] { return client.Acquire("1").status == OpStatus::kDone; }),
            10min);
}

/// In a copy the holder's slot says nothing about its process, so its lease decides.
TEST_F(SqliteLiveness, ACopiedFileChangesNoVerdict) {
  auto holder = std::make_unique<Client>(file_);
  const AcquireOp held = holder->Acquire("1", {.ttl = 1h});
  RawDatabase(file_).Run("VACUUM INTO '" + (folder_ / "copy.db").string() + "'");
  const fs::path with_file = folder_ / "gate/things.db";
  fs::create_directory(folder_ / "gate");
  fs::copy(folder_ / "copy.db", with_file);
  fs::copy(fs::path(file_) += "-doclock", fs::path(with_file) += "-doclock");
  for (const fs::path& copy : {folder_ / "copy.db", with_file}) {
    Client client(copy);
    EXPECT_EQ(client.Acquire("1").status, OpStatus::kBusy) << copy;
    EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone) << copy;
  }
  EXPECT_EQ(Client(file_).Acquire("1").status, OpStatus::kBusy);
  EXPECT_EQ(holder->Release("1", held).status, OpStatus::kDone);
}

TEST_F(SqliteLiveness, ALockInACopiedFileEndsWithItsLease) {
  const auto clock = std::make_shared<testing::ManualClock>();
  Client holder(file_, {.clock = clock});
  const AcquireOp held = holder.Acquire("1", {.ttl = 1h});
  RawDatabase(file_).Run("VACUUM INTO '" + (folder_ / "copy.db").string() + "'");
  Client copy(folder_ / "copy.db", {.clock = clock});
  clock->Advance(1h - 1ms);
  EXPECT_EQ(copy.Acquire("1").status, OpStatus::kBusy);
  EXPECT_EQ(holder.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  clock->Advance(1ms);
  EXPECT_TRUE(copy.Acquire("1").result.took_over)
      << "what the holder does in the original is not seen";
  EXPECT_EQ(Client(file_, {.clock = clock}).Acquire("1").status, OpStatus::kBusy);
}

class SqliteBoots : public SqliteLiveness {
 protected:
  void Age(const std::string& set) { RawDatabase(file_).Run("UPDATE doclock_l_things SET " + set); }
  /// The row of the only document in a list.
  static std::chrono::milliseconds AgeOf(Client& client) {
    const std::vector<LockRow> rows = client.Locks({.unheld = true});
    return rows.size() == 1 ? rows[0].age : -1ms;
  }
  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  SqliteStoreOptions Options() const { return {.sync = SqliteSync::kOff, .clock = clock_}; }
};

/// That of a boot which has been up for so long.
class Uptime : public Clock {
 public:
  explicit Uptime(std::chrono::seconds up) : now(up) {}
  [[nodiscard]] TimePoint Now() const noexcept override { return now; }

  TimePoint now;
};

/// The clock passes the times of the earlier boot once more: then, too, the lock is over.
TEST_F(SqliteBoots, ADetachedLockOfAnEarlierBootIsFreeOneLeaseAfterItIsSeen) {
  const Key shared("shared"), closed("closed");
  {
    Client before(file_, {.sync = SqliteSync::kOff, .clock = std::make_shared<Uptime>(1000s)});
    before.Acquire("1", {.ttl = 60s, .detached = true});
    before.Acquire(
        shared,
        {.insert = Body::FromText("{}"), .ttl = 60s, .mode = LockMode::kShared, .detached = true});
    AcquireOp op = before.AcquireOf(closed);
    op.request.grant.ttl = op.request.grant.min_hold = 60s;
    op.request.insert = Body::FromText("{}");
    before.Execute(op);
    before.Release(closed, op);
  }
  RawDatabase(file_).Run("UPDATE doclock_meta SET value='another' WHERE name='boot'");
  const auto clock = std::make_shared<Uptime>(50s);
  for (const auto& [at, left] : {std::pair(50s, 60s), {109s, 1s}, {110s, 0s}, {1010s, 0s}}) {
    SCOPED_TRACE(at.count());
    clock->now = TimePoint(at);
    // The first one begins an era, and sees that of the boot; the second one is of a later era.
    for (int era = 0; era < 2; ++era) {
      Client after(file_, {.sync = SqliteSync::kOff, .clock = clock});
      for (const Key& key : {Key("1"), shared}) {
        const ReadOp read = after.Read(key);
        EXPECT_EQ(read.result.locked, left > 0s) << key.ToString();
        EXPECT_EQ(read.result.remaining, left) << key.ToString();
      }
      AcquireOp op = after.AcquireOf(closed, {.ttl = 1s});
      after.Execute(op);
      EXPECT_EQ(op.status, left > 0s ? OpStatus::kBusy : OpStatus::kDone);
      if (op.status == OpStatus::kDone) after.Release(closed, op);
    }
  }
}

/// Where boots are not known.
TEST_F(SqliteBoots, ADetachedLockWhoseTimeLiesAheadCountsFromTheBoot) {
  Client client(file_, Options());
  const std::chrono::milliseconds up(clock_->Now().time_since_epoch() / 1ms);
  const AcquireOp held = client.Acquire("1", {.ttl = up + 30s, .detached = true});
  Age("lock_time = lock_time + 1000000000000000, lock_since = lock_since + 1000000000000000");
  clock_->Advance(29s);
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kBusy);
  clock_->Advance(1s);
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kDone);
  EXPECT_EQ(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kLost);
}

/// Else who opens the file for a moment, again and again, would prolong it each time.
TEST_F(SqliteBoots, ADetachedLockOfAnEarlierEraIsFreeWhenItsLeaseIsOver) {
  {
    Client before(file_, Options());
    before.Acquire("1", {.detached = true});
  }
  for (int i = 0; i < 3; ++i) {
    clock_->Advance(10s);
    Client again(file_, Options());
    EXPECT_EQ(again.Acquire("1").status, i < 2 ? OpStatus::kBusy : OpStatus::kDone) << i;
  }
}

TEST_F(SqliteBoots, AnEraBeginsAboveAllVersionsOfTheOneBefore) {
  DOCLOCK_NEEDS_COORDINATOR();
  constexpr std::int64_t kEra = std::int64_t{1} << 32;
  std::int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    Client client(file_, Options()), beside(file_, Options());
    const AcquireOp held = client.Create("1");
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_EQ(held.result.version / kEra, i == 0 ? held.result.version / kEra : last / kEra + 1);
    EXPECT_EQ(beside.Insert(std::int64_t{i}).result.version / kEra, held.result.version / kEra)
        << "a new one";
    last = client.Release("1", held).result.version;
    EXPECT_EQ(last, held.result.version + 1);
  }
}

TEST_F(SqliteBoots, ATimeToComeIsNoReasonToHoldForEver) {
  Client client(file_, Options());
  client.Acquire("1", {.detached = true});
  Age("lock_time = lock_time + 1000000000000000, lock_since = lock_since + 1000000000000000");
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kDone);
}

TEST_F(SqliteBoots, TheAgeOfALockThatIsExpiredCountsFromItsGrant) {
  Client client(file_, Options());
  const AcquireOp held = client.Create("1");
  clock_->Advance(20s);
  ASSERT_EQ(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  clock_->Advance(20s);
  testing::ExpireLock(client.store(), "things", "1");
  EXPECT_EQ(AgeOf(client), 40s);
  EXPECT_FALSE(client.Read("1").result.locked);
  clock_->Advance(5s);
  EXPECT_EQ(client.Purge(100), 1);
  EXPECT_EQ(AgeOf(client), 5s);
}

TEST_F(SqliteBoots, AfterARebootLocksWithAProcessAreFreeAtOnce) {
  {
    Client before(file_, Options());
    before.Acquire("1", {.ttl = 1h});
  }
  Age("lock_era = lock_era - 1");
  Client after(file_, Options());
  EXPECT_EQ(after.Acquire("1").status, OpStatus::kDone);
}

}  // namespace
}  // namespace doclock::sqlite_test
