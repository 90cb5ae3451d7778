// Which commits are flushed: counted, and shown by a power cut right behind each of them.

#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "doclock/doclock.h"
#include "sqlite/power/disk.h"
#include "sqlite/support/count.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteFlush : public SqliteTest {
 protected:
  void SetUp() override {
    DOCLOCK_NEEDS_COORDINATOR();
    client_.emplace(file_);
  }

  /// Loses all that was not flushed, and opens the file again.
  void CutPower() {
    Disk::Cut();
    client_.reset();
    Disk::Restart();
    client_.emplace(file_);
  }
  Client& client() { return *client_; }
  static Body Text(const char* text) { return Body::FromText(text); }
  [[nodiscard]] bool IsThere(const Key& key) {
    return client().Read(key).status == OpStatus::kDone;
  }
  [[nodiscard]] int BodyOf(const Key& key) {
    return client().Read(key).result.body.json().value("a", 0);
  }
  [[nodiscard]] bool IsLocked(const Key& key) {
    const AcquireOp op = client().Acquire(key);
    if (op.status == OpStatus::kDone) client().Release(key, op);
    return op.status == OpStatus::kBusy;
  }
  [[nodiscard]] static FindingLevel LevelOf(Store& store) {
    const auto findings = store.Examine(nullptr, kBudget);
    const auto found = std::ranges::find(findings, "coordinator", &Finding::check);
    return found->level;
  }
  /// How often the disk is waited for in `run`.
  static int FlushesOf(const std::function<void()>& run) {
    const int before = Disk::flushes();
    run();
    return Disk::flushes() - before;
  }
  /// In a cycle.
  double FlushesPerCycle(const std::function<void()>& cycle) {
    constexpr int kCycles = 600;
    cycle();  // makes what is missing
    return double(FlushesOf([&] {
             for (int i = 0; i < kCycles; ++i) cycle();
           })) /
           kCycles;
  }

  Disk disk_;
  std::optional<Client> client_;
};

TEST_F(SqliteFlush, WhatIsOverWithItsProcessIsNot) {
  Client other(file_);
  const Key one("1"), shared("shared");
  client().Insert(one, R"({"a":1})");
  client().Insert(shared);
  const Uuid id = NewUuid(), waiter = NewUuid(), second = NewUuid();
  const auto none = [](const char* what, const auto& run) {
    EXPECT_EQ(FlushesOf([&] {
                const auto op = run();
                EXPECT_TRUE(op.status == OpStatus::kDone || op.status == OpStatus::kBusy)
                    << Why(op);
              }),
              0)
        << what;
  };
  none("grant", [&] { return client().Acquire(one, id); });
  none("renewal", [&] { return client().Renew(one, id); });
  none("queue", [&] { return other.Wait(one, waiter); });
  none("release to the first of the queue", [&] { return client().Release(one, id); });
  none("its renewal", [&] { return other.Renew(one, waiter); });
  none("queue", [&] { return client().Wait(one, second); });
  none("leave", [&] { return client().Leave(one, second); });
  none("release", [&] { return other.Release(one, waiter); });
  none("share", [&] { return client().Acquire(shared, {.id = id, .mode = LockMode::kShared}); });
  none("second share",
       [&] { return other.Acquire(shared, {.id = second, .mode = LockMode::kShared}); });
  none("renewal of a share", [&] { return client().RenewShare(shared, id); });
  none("end of a share", [&] { return client().ReleaseShare(shared, id); });
  none("search", [&] { return client().AcquireNext(Filter().Equal("a", 1)).op; });
  EXPECT_EQ(FlushesOf([&] { client().Break(one); }), 0);
  none("lock of a process", [&] { return client().Acquire(one, id); });
  client_.reset();
  EXPECT_EQ(FlushesOf([&] { EXPECT_EQ(other.Purge(), 1); }), 0);
}

/// A cycle each. Checkpoints count too: three flushes, some hundred cycles apart.
TEST_F(SqliteFlush, ACycleWaitsForTheDiskOnceIfItStoresADocument) {
  LockManager manager(OpenSqliteStore(file_));
  Counters counters(manager, "counters");
  LockProvider names(manager);
  for (const char* key : {"a", "b", "c"}) counters.Insert(key, {{"count", 0}});
  EXPECT_LE(FlushesPerCycle([&] {
              auto lock = counters.Lock("a");
              Increment(*lock);
              lock.Release();
            }),
            1.02);
  EXPECT_LE(FlushesPerCycle([&] { counters.Lock("a").Discard(); }), 0.02);
  EXPECT_LE(FlushesPerCycle([&] { names.Acquire("name").Release(); }), 0.02);
  EXPECT_LE(FlushesPerCycle([&] {
              auto locks = counters.LockAll({"a", "b", "c"});
              Transaction transaction(manager);
              for (auto& lock : locks) {
                Increment(*lock);
                transaction.Release(lock);
              }
              transaction.Commit();
            }),
            1.02);
  EXPECT_LE(FlushesPerCycle([&] { counters.Update("a", Increment); }), 1.02);
}

/// Each alone: a neighbour's flush would carry it along.
TEST_F(SqliteFlush, WhatOutlivesItsProcessIsThereAfterAPowerCut) {
  Key key, fresh;
  Uuid held;
  const auto acquire = [&](conformance::AcquireArgs args) {
    held = args.id;
    return client().Acquire(key, args).status;
  };
  const auto lock = [&] { acquire({}); };
  const auto lock_detached = [&] { acquire({.detached = true}); };
  const auto lock_share = [&] { acquire({.mode = LockMode::kShared, .detached = true}); };
  const auto write = [&](WriteKind kind, const conformance::WriteArgs& args = {}) {
    return client().Write(key, kind, held, args).status;
  };
  const auto locked = [&] { return IsLocked(key); };
  const auto is_free = [&] { return !IsLocked(key); };
  struct Case {
    const char* name;
    std::function<void()> before;
    std::function<OpStatus()> run;
    std::function<bool()> holds;
  };
  const auto nothing = [] {};
  const Case cases[] = {
      {"insert", nothing, [&] { return client().Insert(fresh).status; },
       [&] { return IsThere(fresh); }},
      {"lock of a new document", nothing, [&] { return client().Create(fresh).status; },
       [&] { return IsThere(fresh); }},
      {"save", nothing,
       [&] {
         const ReadOp read = client().Read(key);
         return client()
             .Save(SaveKind::kReplace, key, read.result.version, read.result.born,
                   Text(R"({"a":2})"))
             .status;
       },
       [&] { return BodyOf(key) == 2; }},
      {"erase", nothing, [&] { return client().Erase(key).status; }, [&] { return !IsThere(key); }},
      {"checkpoint", lock,
       [&] { return write(WriteKind::kCheckpoint, {.body = Text(R"({"a":2})")}); },
       [&] { return BodyOf(key) == 2; }},
      {"release with a body", lock,
       [&] { return write(WriteKind::kRelease, {.body = Text(R"({"a":2})")}); },
       [&] { return BodyOf(key) == 2; }},
      {"merge", lock,
       [&] { return write(WriteKind::kRelease, {.body = Text(R"({"a":2})"), .merge = true}); },
       [&] { return BodyOf(key) == 2; }},
      {"erase under the lock", lock, [&] { return write(WriteKind::kErase); },
       [&] { return !IsThere(key); }},
      {"transaction", nothing,
       [&] {
         SaveOp op = client().InsertOf(fresh, {});
         StoreOp* const ops[] = {&op};
         CommitOp commit{.ops = ops};
         client().store().Commit(commit, kBudget);
         return op.status;
       },
       [&] { return IsThere(fresh); }},
      {"joined work", lock,
       [&] {
         WriteOp op = client().ReleaseOf(key, held);
         StoreOp* const ops[] = {&op};
         CommitOp commit{.ops = ops};
         commit.join = [](void* native) {
           sqlite3_exec(static_cast<sqlite3*>(native), "CREATE TABLE mine(x)", nullptr, nullptr,
                        nullptr);
         };
         client().store().Commit(commit, kBudget);
         return op.status;
       },
       [&] {
         return RawDatabase(file_).Number("SELECT count(*) FROM sqlite_master WHERE name='mine'") ==
                1;
       }},
      {"detached lock", nothing, [&] { return acquire({.detached = true}); }, locked},
      {"its renewal", lock_detached,
       [&] {
         return client().Renew(key, held, 1h, LockMode::kExclusive, /*detached=*/true).status;
       },
       [&] { return client().Read(key).result.remaining > 30min; }},
      {"its release", lock_detached, [&] { return client().Release(key, held).status; }, is_free},
      {"its break", lock_detached,
       [&] {
         client().Break(key);
         return OpStatus::kDone;
       },
       is_free},
      {"its steal by a process", lock_detached,
       [&] {
         client().Steal(key);
         return OpStatus::kDone;
       },
       [&] { return client().Renew(key, held).status == OpStatus::kLost; }},
      {"detaching", lock,
       [&] {
         return client().Renew(key, held, 30s, LockMode::kExclusive, /*detached=*/true).status;
       },
       locked},
      {"attaching", lock_detached, [&] { return client().Renew(key, held).status; }, is_free},
      {"detached share", nothing,
       [&] { return acquire({.mode = LockMode::kShared, .detached = true}); }, locked},
      {"end of a detached share", lock_share,
       [&] { return client().ReleaseShare(key, held).status; }, is_free},
      {"min_hold", nothing, [&] { return acquire({.min_hold = 30s}); }, locked},
      {"hand-over with min_hold", lock,
       [&] {
         GrantRequest next{.lock_id = NewUuid(), .ttl = 30s, .min_hold = 30s};
         return write(WriteKind::kRelease, {.next = &next});
       },
       locked},
      {"min_hold from the queue",
       [&] {
         lock();
         AcquireOp waiter = client().AcquireOf(key, {.min_hold = 30s, .queue_for = 30s});
         client().Execute(waiter);
       },
       [&] { return client().Release(key, held).status; }, locked},
      {"detached lock from the queue",
       [&] {
         lock();
         AcquireOp waiter = client().AcquireOf(key, {.queue_for = 30s, .detached = true});
         client().Execute(waiter);
       },
       [&] { return client().Release(key, held).status; }, locked},
      {"collection", nothing,
       [&] {
         static_cast<void>(client().Open("others"));
         return OpStatus::kDone;
       },
       [&] {
         const auto names = client().store().ListCollections(kBudget);
         return std::ranges::find(names, "others") != names.end();
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    key = Key(c.name);
    fresh = Key(c.name + std::string(", new"));
    client().Insert(key, R"({"a":1})");
    c.before();
    EXPECT_EQ(FlushesOf([&] { EXPECT_EQ(c.run(), OpStatus::kDone); }), 1);
    CutPower();
    EXPECT_TRUE(c.holds());
  }
}

/// The log outlives the stores, and would have a hole.
TEST_F(SqliteFlush, AFirstStoreBeginsANewLogAfterAFailedFlush) {
  std::optional<RawDatabase> foreign(file_);
  ASSERT_EQ(foreign->Number("SELECT count(*) FROM doclock_l_things"), 0);
  for (const char* key : {"1", "2"}) {
    Disk::FailFlushes(1);
    EXPECT_EQ(client().Insert(key).status, OpStatus::kInDoubt);
    client_.reset();
    client_.emplace(file_);
    ASSERT_EQ(client().Insert(key + std::string(", again")).status, OpStatus::kDone);
    foreign->Number("SELECT count(*) FROM doclock_l_things");
  }
  Disk::Cut();
  foreign.reset();
  CutPower();
  EXPECT_TRUE(IsThere("1, again"));
  EXPECT_TRUE(IsThere("2, again"));
}

TEST_F(SqliteFlush, AFailedFlushOutlivesTheStoresUntilALogBegins) {
  RawDatabase foreign(file_);
  foreign.Run("BEGIN");
  foreign.Number("SELECT count(*) FROM doclock_l_things");
  Disk::FailFlushes(1);
  EXPECT_EQ(client().Insert("1").status, OpStatus::kInDoubt);
  client_.reset();
  try {
    OpenSqliteStore(file_, {.busy_timeout = 50ms});
    ADD_FAILURE() << "the old log is read";
  } catch (const StoreException& error) {
    EXPECT_NE(std::string(error.what()).find("could not be flushed"), std::string::npos)
        << error.what();
  }
  {
    const auto doctor = OpenSqliteStore(file_, {.create = false, .complete = false});
    EXPECT_EQ(LevelOf(*doctor), FindingLevel::kProblem);
  }
  foreign.Run("COMMIT");
  client_.emplace(file_);
  EXPECT_EQ(client().Insert("2").status, OpStatus::kDone);
  EXPECT_EQ(LevelOf(client().store()), FindingLevel::kOk);
}

/// A checkpoint without flushes lets the log be used again.
TEST_F(SqliteFlush, AFirstStoreFlushesWhatOneWithoutFlushesHasLeft) {
  client_.reset();
  std::optional<RawDatabase> foreign(file_);
  foreign->Number("SELECT count(*) FROM doclock_l_things");
  {
    Client off(file_, {.sync = SqliteSync::kOff});
    off.Insert("1", R"({"b":")" + std::string(5'000'000, 'x') + "\"}");
  }
  client_.emplace(file_);
  foreign->Number("SELECT count(*) FROM doclock_l_things");
  Disk::Cut();
  foreign.reset();
  CutPower();
  EXPECT_TRUE(IsThere("1"));
}

/// It begins no era, so a fence that a power cut took would be given again.
TEST_F(SqliteFlush, AllOfAFirstStoreThatBeginsNoEraIs) {
  client().Insert("1");
  client_.reset();
  std::int64_t fence = 0;
  for (int i = 0; i < 2; ++i) {
    std::optional<Client> incomplete(std::in_place, file_, SqliteStoreOptions{.complete = false});
    const AcquireOp held = incomplete->Acquire("1");
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_GT(held.result.version, fence);
    fence = held.result.version;
    Disk::Cut();
    incomplete.reset();
    Disk::Restart();
  }
}

/// Calls a function once a connection that was opened meanwhile begins to run this statement.
class BeforeStatement {
 public:
  explicit BeforeStatement(const char* text) {
    text_ = text;
    sqlite3_auto_extension(Extension());
  }
  void Call(std::function<void()> run) { run_ = std::move(run); }
  BeforeStatement(const BeforeStatement&) = delete;
  BeforeStatement& operator=(const BeforeStatement&) = delete;
  ~BeforeStatement() {
    sqlite3_cancel_auto_extension(Extension());
    run_ = nullptr;
  }

 private:
  static void (*Extension())() {
    int (*const extension)(sqlite3*, char**, const sqlite3_api_routines*) =
        [](sqlite3* database, char**, const sqlite3_api_routines*) {
          return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, Begins, nullptr);
        };
    return reinterpret_cast<void (*)()>(extension);
  }
  static int Begins(unsigned, void*, void*, void* sql) {
    if (run_ && text_ == static_cast<const char*>(sql)) std::exchange(run_, nullptr)();
    return 0;
  }

  static inline std::string text_;
  static inline std::function<void()> run_;
};

/// Between the transaction that finds out that it needs a flush and the one that has it.
TEST_F(SqliteFlush, AProgramThatWritesBeforeTheFlushIsSeen) {
  client().Create("1");
  client().Break("1");
  const ReadOp read = client().Read("1");
  BeforeStatement pragma("PRAGMA synchronous=FULL");
  Client other(file_);
  EXPECT_EQ(other.Renew("1", NewUuid()).status, OpStatus::kLost);  // begins without a flush
  bool written = false;
  pragma.Call([&] {
    RawDatabase(file_).Run("UPDATE doclock_l_things SET lock_version=lock_version+1");
    written = true;
  });
  const SaveOp save =
      other.Save(SaveKind::kReplace, "1", read.result.version, read.result.born, Text("{}"));
  EXPECT_TRUE(written);
  EXPECT_EQ(save.status, OpStatus::kConflict) << Why(save);
}

}  // namespace
}  // namespace doclock::sqlite_test
