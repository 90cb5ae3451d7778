// Random programs of several stores on one file, and the power fails at any write or flush.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "doclock/testing/manual_clock.h"
#include "sqlite/power/disk.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

/// What the stores have acknowledged of a document, and what may be so besides.
struct Known {
  /// The values that its body may have; 0: there is no document. More than one: a write did not
  /// answer.
  std::set<int> bodies{0};
  std::int64_t highest = 0;  ///< The highest fence that was granted.
  Uuid detached{};           ///< Holds it whatever happens, until `until`.
  TimePoint until{};
  bool is_unsure = false;  ///< A call that may change the two below or above did not answer.
  TimePoint closed{};      ///< By min_hold.
  Uuid held{};             ///< By a process.
};

class SqlitePowerCut : public SqliteTest {
 protected:
  static constexpr int kStores = 3, kSteps = 24;
  static constexpr std::chrono::hours kLong{1};

  void SetUp() override { DOCLOCK_NEEDS_COORDINATOR(); }

  void Play(std::uint64_t seed) {
    random_.seed(seed);
    known_.clear();
    pair_ = {0};
    folder_.emplace();
    disk_.emplace();
    file_ = *folder_ / "things.db";
    // Few kinds of steps: the flush of another kind would carry along what is not flushed.
    kinds_.clear();
    for (int kind = 0; kind < kKinds; ++kind) {
      if (Chance(3)) kinds_.push_back(kind);
    }
    if (kinds_.empty()) kinds_.push_back(Pick(kKinds));
    Open();
    for (const Key& key : keys_) {
      if (Chance(2)) Insert(key);
    }
    for (int cut = 0; cut < 3 && !HasFailure(); ++cut) {
      Disk::CutAfter(Chance(3) ? 1000 : 1 + Pick(60));
      for (int step = Pick(kSteps); step >= 0 && !Disk::IsOff(); --step) Step();
      Disk::Cut();
      clients_.clear();
      Disk::Restart(Chance(3) ? nullptr : &random_);
      if (Chance(2)) Reboot();
      Open();
      Look();
    }
    clients_.clear();
    disk_.reset();
  }

 private:
  enum Kind { kSave, kErase, kLock, kStore, kDetach, kDrop, kAttach, kHold, kPair, kShare, kOther };
  static constexpr int kKinds = kOther + 1;

  int Pick(int of) { return static_cast<int>(random_() % static_cast<unsigned>(of)); }
  bool Chance(int of) { return Pick(of) == 0; }
  Client& Any() { return clients_[static_cast<std::size_t>(Pick(kStores))]; }
  [[nodiscard]] TimePoint Now() const { return clock_->Now(); }

  void Open() {
    for (int i = 0; i < kStores; ++i)
      clients_.emplace_back(file_, SqliteStoreOptions{.clock = clock_});
  }
  /// The next boot counts time anew; the test's clock goes on, which serves as well.
  void Reboot() {
    RawDatabase(file_).Run("UPDATE doclock_meta SET value='boot " + std::to_string(++boots_) +
                           "' WHERE name='boot'");
    for (auto& [key, known] : known_) {
      // They count anew from the boot, also if they were over.
      const bool over = (!known.detached.is_nil() && known.until <= Now()) ||
                        (known.closed > TimePoint{} && known.closed <= Now());
      known.is_unsure |= over;
      if (known.until > Now()) known.until = Now() + kLong;
      if (known.closed > Now()) known.closed = Now() + kLong;
    }
  }
  static Body BodyOf(int value) { return Body::FromText(R"({"a":)" + std::to_string(value) + "}"); }
  static bool IsOpen(const StoreOp& op) {
    return op.status == OpStatus::kInDoubt || op.status == OpStatus::kFailed;
  }
  /// A write of the body has ended so.
  static void Wrote(const StoreOp& op, Known& known, int value) {
    if (op.status == OpStatus::kDone) known.bodies = {value};
    if (IsOpen(op)) known.bodies.insert(value);
  }
  void Insert(const Key& key) {
    const int value = ++values_;
    Wrote(Any().InsertBody(key, BodyOf(value)), known_[key], value);
  }
  void Granted(const AcquireOp& op, Known& known) {
    if (op.status != OpStatus::kDone) return;
    EXPECT_GT(op.result.version, known.highest) << "a fence was given twice";
    known.highest = op.result.version;
    EXPECT_TRUE(known.is_unsure || known.detached.is_nil() || Now() >= known.until)
        << "a detached lock is lost";
    EXPECT_TRUE(known.is_unsure || Now() >= known.closed) << "a job may run twice";
    known.detached = {};
    known.held = op.request.grant.lock_id;
  }

  void Step() {
    const Key& key = keys_[static_cast<std::size_t>(Pick(kKeys))];
    Known& known = known_[key];
    Client& client = Any();
    const int value = ++values_;
    if (Chance(12)) {  // a store closes, and the log with the last one
      const bool all = Chance(3);
      clients_.erase(all ? clients_.begin() : clients_.end() - 1, clients_.end());
      for (auto& [other, its] : known_) its.held = {};
      while (clients_.size() < kStores && !Disk::IsOff()) {
        try {
          clients_.emplace_back(file_, SqliteStoreOptions{.clock = clock_});
        } catch (const StoreException&) {
          if (!Disk::IsOff()) throw;
        }
      }
      return;
    }
    switch (kinds_[static_cast<std::size_t>(Pick(static_cast<int>(kinds_.size())))]) {
      case kSave: {
        const ReadOp read = client.Read(key);
        if (read.status == OpStatus::kMissing) return Insert(key);
        if (read.status != OpStatus::kDone) return;
        return Wrote(client.Save(SaveKind::kReplace, key, read.result.version, read.result.born,
                                 BodyOf(value)),
                     known, value);
      }
      case kErase: {
        const SaveOp op = client.Erase(key);
        Wrote(op, known, 0);
        known.is_unsure |= IsOpen(op);
        if (op.status != OpStatus::kDone) return;
        known.highest = 0;
        known.detached = {};
        known.closed = {};
        return;
      }
      case kLock: {
        const AcquireOp op = client.Acquire(key);
        Granted(op, known);
        if (op.status == OpStatus::kDone && Chance(2)) client.Release(key, op);
        return;
      }
      case kStore: {
        const AcquireOp op = client.Acquire(key, {.insert = BodyOf(value)});
        if (IsOpen(op)) known.bodies.insert(value);
        if (op.status != OpStatus::kDone) return;
        Granted(op, known);
        if (known.bodies.contains(0) && known.bodies.size() == 1) known.bodies = {value};
        const int second = ++values_;
        return Wrote(client.Release(key, op, BodyOf(second)), known, second);
      }
      case kDetach: {
        const AcquireOp op = client.Acquire(key, {.ttl = kLong, .detached = true});
        Granted(op, known);
        known.is_unsure |= IsOpen(op);
        if (op.status != OpStatus::kDone) return;
        known.held = {};
        known.detached = op.request.grant.lock_id;
        known.until = Now() + kLong;
        return;
      }
      case kDrop:
      case kAttach: {
        if (known.detached.is_nil()) return;
        const bool drop = Chance(2);
        const OpStatus status = drop ? client.Release(key, known.detached).status
                                     : client.Renew(key, known.detached).status;
        known.is_unsure |= status == OpStatus::kInDoubt || status == OpStatus::kFailed;
        if (status != OpStatus::kDone) return;  // one that is over stays in its row
        if (!drop) known.held = known.detached;
        known.detached = {};
        return;
      }
      case kHold: {
        const AcquireOp op = client.Acquire(key, {.min_hold = kLong});
        Granted(op, known);
        known.is_unsure |= IsOpen(op);  // or closed
        if (op.status != OpStatus::kDone) return;
        known.closed = Now() + kLong;
        if (Chance(2)) client.Release(key, op);
        return;
      }
      case kPair: {
        const Key one("pair 1"), two("pair 2");
        const ReadOp first = client.Read(one), second = client.Read(two);
        const bool is_new = first.status == OpStatus::kMissing;
        if (!is_new && (first.status != OpStatus::kDone || second.status != OpStatus::kDone))
          return;
        const auto save = [&](const Key& of, const ReadOp& read) {
          return client.SaveOf(is_new ? SaveKind::kInsert : SaveKind::kReplace, of,
                               is_new ? kAnyVersion : read.result.version, read.result.born,
                               BodyOf(value));
        };
        SaveOp a = save(one, first), b = save(two, second);
        StoreOp* const ops[] = {&a, &b};
        CommitOp commit{.ops = ops};
        client.Commit(commit);
        if (a.status == OpStatus::kDone) pair_ = {value};
        if (IsOpen(a)) pair_.insert(value);
        return;
      }
      case kShare: {
        const AcquireOp op = client.Acquire(key, {.mode = LockMode::kShared});
        if (op.status != OpStatus::kDone) return;
        Granted(op, known);
        if (Chance(2)) client.ReleaseShare(key, op.request.grant.lock_id);
        return;
      }
      default:
        clock_->Jump(Chance(2) ? 2 * kLong : std::chrono::milliseconds(20'000));
        if (!known.held.is_nil()) client.Renew(key, known.held);
        return;
    }
  }

  static int ValueOf(const ReadOp& read) {
    if (read.status == OpStatus::kMissing) return 0;
    EXPECT_EQ(read.status, OpStatus::kDone) << Why(read);
    return read.status == OpStatus::kDone ? read.result.body.json().at("a").get<int>() : -1;
  }

  /// What a power cut has left.
  void Look() {
    EXPECT_EQ(RawDatabase(file_).Text("PRAGMA integrity_check"), "ok");
    for (const Key& key : keys_) {
      SCOPED_TRACE(key.ToString());
      Known& known = known_[key];
      const int value = ValueOf(Any().Read(key));
      EXPECT_TRUE(known.bodies.contains(value)) << value << ": an acknowledged body is lost";
      known.bodies = {value};
      known.held = {};
      const bool lasts = !known.is_unsure && !known.detached.is_nil() && Now() < known.until;
      if (lasts) {
        EXPECT_EQ(Any().Read(key).result.lock_id, known.detached) << "a detached lock is lost";
      }
      if (value == 0) {
        known.detached = {};  // it went with its document
        known.closed = {};
        known.highest = 0;
      } else if (!lasts) {
        const AcquireOp op = Any().Acquire(key);
        Granted(op, known);
        if (Now() >= known.closed && !known.is_unsure) {
          EXPECT_EQ(op.status, OpStatus::kDone) << "a lock of a dead process is not free";
        }
        if (op.status == OpStatus::kDone) Any().Release(key, op);
      }
      if (known.is_unsure) {
        // Begin with what is known.
        clock_->Jump(2 * kLong);
        known.is_unsure = false;
        known.detached = {};
        known.closed = Now();
      }
    }
    const int one = ValueOf(Any().Read(Key("pair 1"))), two = ValueOf(Any().Read(Key("pair 2")));
    EXPECT_EQ(one, two) << "half a transaction";
    EXPECT_TRUE(pair_.contains(one)) << "a transaction is lost";
    pair_ = {one};
  }

  static constexpr int kKeys = 3;
  const std::array<Key, kKeys> keys_{Key("1"), Key("2"), Key("3")};
  std::mt19937_64 random_;
  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  std::optional<TempFolder> folder_;
  std::optional<Disk> disk_;
  std::vector<Client> clients_;
  std::vector<int> kinds_;
  std::map<Key, Known> known_;
  std::set<int> pair_;
  int values_ = 0, boots_ = 0;
};

/// DOCLOCK_POWER_CUTS plays more; DOCLOCK_POWER_CUTS_FIRST is the first seed.
TEST_F(SqlitePowerCut, TakesNothingThatOutlivesItsProcess) {
  const auto number = [](const char* name, int otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : otherwise;
  };
  const int first = number("DOCLOCK_POWER_CUTS_FIRST", 1);
  const int files = number("DOCLOCK_POWER_CUTS", Rounds(15));
  for (int seed = first; seed < first + files && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Play(static_cast<std::uint64_t>(seed));
  }
}

}  // namespace
}  // namespace doclock::sqlite_test
