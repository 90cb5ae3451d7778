// A replica set that loses its primary again and again, in every way there is; and processes that
// are stopped past their leases. Whatever was told stays true.

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "doclock/locking_repository.h"
#include "doclock/transaction.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"
#include "mongodb/support/replica_set.h"
#include "process/child.h"

namespace doclock::mongo_test {
namespace {

using Things = LockingRepository<nlohmann::json>;

/// How often the primary goes in the long test. The environment may ask for more.
int Failovers() {
  const char* const number = std::getenv("DOCLOCK_TEST_FAILOVERS");
  return number == nullptr ? 30 : std::stoi(number);
}

/// The outcomes reported to the workers, to compare with the documents.
class Ledger {
 public:
  void Granted(const std::string& key, std::int64_t fence) {
    const std::lock_guard guard(mutex_);
    EXPECT_TRUE(fences_[key].insert(fence).second)
        << key << ": the fence " << fence << " was given out twice";
  }
  enum class Outcome : std::uint8_t { kWritten, kNotWritten, kInDoubt };
  void Ended(const std::string& key, const std::string& entry, Outcome outcome) {
    const std::lock_guard guard(mutex_);
    entries_[key].emplace(entry, outcome);
    ++count_[outcome];
  }
  [[nodiscard]] int Count(Outcome outcome) {
    const std::lock_guard guard(mutex_);
    return count_[outcome];
  }
  [[nodiscard]] std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const auto& [key, entries] : entries_) keys.push_back(key);
    return keys;
  }

  void Check(const std::string& key, const nlohmann::json& history, std::int64_t version) {
    std::map<std::string, int> found;
    std::int64_t fence = 0;
    for (const auto& entry : history) {
      EXPECT_GT(entry.at("fence").get<std::int64_t>(), fence)
          << key << ": written under a fence that was over: " << entry;
      fence = entry.at("fence").get<std::int64_t>();
      ++found[entry.at("entry").get<std::string>()];
    }
    EXPECT_GE(version, fence);
    EXPECT_TRUE(fences_[key].empty() || version >= *fences_[key].rbegin());
    for (const auto& [entry, outcome] : entries_[key]) {
      const int times = found[entry];
      found.erase(entry);
      if (outcome == Outcome::kWritten) {
        EXPECT_EQ(times, 1) << key << ": " << entry << " was acknowledged";
      } else if (outcome == Outcome::kNotWritten) {
        EXPECT_EQ(times, 0) << key << ": " << entry << " was told not to be written";
      } else {
        EXPECT_LE(times, 1) << key << ": " << entry << " was in doubt";
      }
    }
    for (const auto& [entry, times] : found) {
      ADD_FAILURE() << key << ": no client wrote " << entry;
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::set<std::int64_t>> fences_;
  std::map<std::string, std::map<std::string, Outcome>> entries_;
  std::map<Outcome, int> count_;
};

using Outcome = Ledger::Outcome;

class MongoFailover : public ::testing::Test {
 protected:
  static MongodbStoreOptions Patient() {
    return {.socket_timeout = 2s, .server_selection_timeout = 3s};
  }
  /// Leases that outlast any election, on a slow machine too.
  static constexpr auto kLong = 5min;
  /// An election, on a slow machine too.
  static constexpr auto kElections = 5min;

  [[nodiscard]] LockManager OpenManager(std::chrono::milliseconds budget = 3s) const {
    return LockManager(OpenMongodbStore(database_.uri(), Patient()), {.call_budget = budget});
  }
  [[nodiscard]] Things OpenThings(std::chrono::milliseconds ttl = 4s,
                                  std::chrono::milliseconds budget = 3s) const {
    return {OpenManager(budget), "things", {.ttl = ttl}};
  }

  ReplicaSet set_;
  Database database_{set_.uri()};
};

/// Appends to the histories of a few documents, under their locks, until told to stop.
class Worker {
 public:
  Worker(int number, LockManager manager, Ledger& ledger, const std::atomic<int>& epoch)
      : number_(number),
        manager_(std::move(manager)),
        ledger_(ledger),
        epoch_(epoch),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() = default;

 private:
  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      // Two documents at a time, and others later on: no history becomes long.
      const std::string key =
          std::to_string(epoch_.load()) + (++turns_ % 2 == 0 ? " even" : " odd");
      try {
        Append(key);
      } catch (const Error&) {
        // Not locked; nothing was written.
      }
    }
  }
  void Append(const std::string& key) {
    auto lock =
        things_.Lock({key, nlohmann::json{{"history", nlohmann::json::array()}}}, {.wait = 3s});
    ledger_.Granted(key, lock.fence());
    const std::string entry = std::to_string(number_) + "." + std::to_string(turns_);
    (*lock)["history"].push_back({{"fence", lock.fence()}, {"entry", entry}});
    Outcome outcome = Outcome::kWritten;
    try {
      // The document is the history, not the end of the lock: all ways to write it are tried.
      if (turns_ % 3 == 0) lock.Save();
      if (turns_ % 3 == 1) {
        Transaction(manager_).Release(lock).Insert(copies_, entry, {{"of", key}}).Commit();
      } else {
        lock.Release();
      }
    } catch (const InDoubtException&) {
      outcome = Outcome::kInDoubt;
    } catch (const LockException&) {
      // A checkpoint may have been acknowledged before.
      outcome = turns_ % 3 == 0 ? Outcome::kInDoubt : Outcome::kNotWritten;
    } catch (const StoreException&) {
      outcome = turns_ % 3 == 0 ? Outcome::kInDoubt : Outcome::kNotWritten;
    }
    ledger_.Ended(key, entry, outcome);
  }

  const int number_;
  const LockManager manager_;
  const Things things_{manager_, "things", {.ttl = 4s}};
  const Things copies_{manager_, "copies"};  ///< Of the entries that a transaction has written.
  Ledger& ledger_;
  const std::atomic<int>& epoch_;
  int turns_ = 0;
  std::jthread thread_;
};

TEST_F(MongoFailover, NoAcknowledgedWriteVanishesAndNoFenceIsGivenTwice) {
  constexpr int kWorkers = 4;
  Ledger ledger;
  std::atomic<int> epoch = 0;
  int killed = 0;
  double slowest = 0;
  {
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < kWorkers; ++i) {
      // Two processes' worth of managers, with two callers each.
      workers.push_back(std::make_unique<Worker>(i, OpenManager(), ledger, epoch));
    }
    const auto await_progress = [&] {
      const int before = ledger.Count(Outcome::kWritten);
      const auto start = std::chrono::steady_clock::now();
      while (ledger.Count(Outcome::kWritten) < before + 5) {
        ASSERT_LT(std::chrono::steady_clock::now() - start, kElections)
            << "nothing goes on any more";
        std::this_thread::sleep_for(5ms);
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      slowest = std::max(slowest, took.count());
    };
    await_progress();
    for (int i = 0; i < Failovers() && !HasFatalFailure(); ++i) {
      epoch = i / 2;
      if (i % 5 == 4) {
        const int primary = set_.Primary();
        set_.Kill(primary);
        ++killed;
        await_progress();
        set_.Revive(primary);
        set_.Heal();
      } else {
        set_.StepDown();
        await_progress();
      }
    }
  }
  set_.Heal();
  Client reader(OpenMongodbStore(database_.uri()));
  std::set<std::string> copied, copies;
  for (const auto& copy : Things(OpenManager(), "copies").Find(Filter())) {
    copies.insert(copy.key().ToString());
  }
  for (const std::string& key : ledger.Keys()) {
    const Key document(key);
    const ReadOp read = reader.Read(document);
    if (read.status == OpStatus::kMissing) {
      ledger.Check(key, nlohmann::json::array(), 0);
      continue;
    }
    ASSERT_EQ(read.status, OpStatus::kDone) << Why(read);
    const nlohmann::json history = read.result.body.json().at("history");
    ledger.Check(key, history, read.result.version);
    for (const auto& line : history) {
      const std::string entry = line.at("entry");
      if (std::stoi(entry.substr(entry.find('.') + 1)) % 3 == 1) copied.insert(entry);
    }
  }
  EXPECT_EQ(copied, copies) << "what a transaction writes goes in together";
  std::cout << "[figures] " << Failovers() << " failovers, " << killed
            << " of them kills: " << ledger.Count(Outcome::kWritten) << " writes acknowledged, "
            << ledger.Count(Outcome::kNotWritten) << " refused, " << ledger.Count(Outcome::kInDoubt)
            << " in doubt; slowest to go on " << slowest << " s\n";
}

/// Two documents that are released together, and a third one that is made.
class MongoFailoverCommit {
 public:
  explicit MongoFailoverCommit(Client& client, const std::string& name)
      : client_(client), keys_{Key(name + " 1"), Key(name + " 2"), Key(name + " 3")} {
    for (std::size_t i = 0; i < releases_.size(); ++i) {
      const AcquireOp held =
          client.Acquire(keys_[i], {.id = NewUuid(), .insert = Counted(1), .ttl = 1h});
      EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
      releases_[i].request.lock_id = held.request.grant.lock_id;
      releases_[i].request.expected = held.result.version;
      releases_[i].request.body = Counted(2);
    }
    insert_.request.save = SaveKind::kInsert;
    insert_.request.write_id = NewUuid();
    insert_.request.body = Counted(2);
  }

  /// @param act is called once, while the transaction is open, before its writes
  void Run(const std::function<void()>& act, std::chrono::milliseconds budget) {
    StoreOp* const ops[] = {&releases_[0], &insert_, &releases_[1]};
    CommitOp commit{.ops = ops};
    commit.join = [&](void*) {
      if (++calls_ == 1) act();
    };
    client_.store().Commit(commit, budget);
  }
  /// It was told to be stored, and is.
  void ExpectStored() {
    for (const StoreOp* op : {static_cast<StoreOp*>(&insert_), static_cast<StoreOp*>(&releases_[0]),
                              static_cast<StoreOp*>(&releases_[1])}) {
      EXPECT_EQ(op->status, OpStatus::kDone) << Why(*op);
      const ReadOp read = client_.Read(*op->key);
      ASSERT_EQ(read.status, OpStatus::kDone) << Why(read);
      EXPECT_EQ(read.result.body.json(), nlohmann::json({{"n", 2}}));
      EXPECT_EQ(read.result.version, op == &insert_ ? 1 : 2) << "once";
      EXPECT_FALSE(read.result.locked);
    }
  }
  [[nodiscard]] int calls() const noexcept { return calls_; }

 private:
  Client& client_;
  const std::array<Key, 3> keys_;
  std::array<WriteOp, 2> releases_{WriteOp(client_.collection(), keys_[0]),
                                   WriteOp(client_.collection(), keys_[1])};
  SaveOp insert_{client_.collection(), keys_[2]};
  int calls_ = 0;
};

TEST_F(MongoFailover, APrimaryThatIsKilledAtTheVeryCommitLeavesAllOfIt) {
  Client client(OpenMongodbStore(database_.uri(), Patient()), "things", kElections);
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    MongoFailoverCommit commit(client, std::to_string(i));
    const int primary = set_.Primary();
    std::future<void> killed;
    commit.Run(
        [&] {
          const std::chrono::microseconds when(random() % 8000);
          killed = std::async(std::launch::async, [&, when] {
            std::this_thread::sleep_for(when);
            set_.Kill(primary);
          });
        },
        kElections);
    killed.get();
    set_.Revive(primary);
    set_.Heal();
    commit.ExpectStored();
  }
}

/// A primary that is alone goes on for a second before it notices.
class LonelyPrimary : public MongoFailover {
 protected:
  /// Writes to it. False: it noticed before anything was sent, which is nothing's fault.
  bool WriteTo(int primary, WriteOp& save, AcquireOp& acquire) {
    // Stopped ones would find the write in their sockets when they go on.
    for (const int other : set_.Others(primary)) set_.Kill(other);
    save.status = acquire.status = OpStatus::kPending;
    client_.Execute(save);
    client_.Execute(acquire);
    return save.status != OpStatus::kFailed && acquire.status != OpStatus::kFailed;
  }
  /// The others go on without it; what it alone had, it has to take back.
  void Replace(int primary) {
    set_.Kill(primary);
    for (const int other : set_.Others(primary)) set_.Revive(other);
    EXPECT_NE(set_.PrimaryOtherThan(primary), primary);
    set_.Revive(primary);
    set_.Heal();
  }

  Client client_{OpenMongodbStore(database_.uri(), Patient()), "things", 400ms};
  Client patient_{OpenMongodbStore(database_.uri(), Patient()), "things", kElections};
};

TEST_F(LonelyPrimary, LeavesAWriteInDoubtAndMayTakeItWithIt) {
  const Key key("rolled back"), other_key("never there");
  const Uuid id = NewUuid();
  const AcquireOp held = patient_.Acquire(key, {.id = id, .insert = Counted(1), .ttl = kLong});
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  WriteOp save =
      client_.WriteOf(key, WriteKind::kCheckpoint, id,
                      {.expected = held.result.version, .body = Counted(2), .ttl = kLong});
  AcquireOp acquire = client_.AcquireOf(other_key, {.insert = Counted(1), .ttl = kLong});
  bool written = false;
  for (int i = 0; i < 10 && !written; ++i) {
    const int primary = set_.Primary();
    written = WriteTo(primary, save, acquire);
    Replace(primary);
  }
  ASSERT_TRUE(written) << "no primary stayed one for long enough";
  EXPECT_EQ(save.status, OpStatus::kInDoubt) << Why(save);
  EXPECT_EQ(acquire.status, OpStatus::kInDoubt) << Why(acquire);

  const ReadOp read = patient_.Read(key);
  ASSERT_EQ(read.status, OpStatus::kDone) << Why(read);
  EXPECT_EQ(read.result.version, held.result.version) << "no other member had it";
  EXPECT_EQ(read.result.body.json().at("n"), 1);
  EXPECT_EQ(patient_.Read(other_key).status, OpStatus::kMissing);
  // The version tells that it may be sent again, as it is.
  const WriteOp again = patient_.Write(key, WriteKind::kCheckpoint, id,
                                       {.expected = held.result.version, .body = Counted(2)});
  EXPECT_EQ(again.status, OpStatus::kDone) << Why(again);
}

/// Others may have locked and made it since, at the next primary.
TEST_F(LonelyPrimary, TellsNothingToBeLostOrMissing) {
  const Key there("there"), missing("missing"), neighbour("neighbour");
  const AcquireOp held =
      patient_.Acquire(there, {.id = NewUuid(), .insert = Counted(1), .ttl = kLong});
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  RenewOp renew = client_.RenewOf(there, NewUuid(), kLong);
  RenewOp renew_share = client_.RenewOf(there, NewUuid(), kLong, LockMode::kShared);
  AcquireOp lock = client_.AcquireOf(missing, {.ttl = kLong});
  AcquireOp share = client_.AcquireOf(missing, {.ttl = kLong, .mode = LockMode::kShared});
  AcquireOp beside = client_.AcquireOf(neighbour, {.ttl = kLong});
  for (const std::vector<StoreOp*>& ops : std::initializer_list<std::vector<StoreOp*>>{
           {&renew}, {&renew_share}, {&lock}, {&share}, {&lock, &beside}}) {
    const int primary = set_.Primary();
    for (const int other : set_.Others(primary)) set_.Signal(other, SIGSTOP);
    client_.store().Execute(ops, client_.budget());
    for (const int other : set_.Others(primary)) set_.Signal(other, SIGCONT);
    set_.Heal();
    for (const StoreOp* op : ops) {
      EXPECT_TRUE(op->status == OpStatus::kInDoubt || op->status == OpStatus::kFailed)
          << static_cast<int>(op->status) << " " << Why(*op);
    }
  }
}

TEST_F(MongoFailover, AProgramThatWritesWhileNoMajorityIsThereGetsOverIt) {
  const Things things = OpenThings(kLong);
  things.Insert("counter", nlohmann::json{{"n", 0}});
  auto lock = things.Lock("counter");
  (*lock)["n"] = 1;
  const int primary = set_.Primary();
  for (const int other : set_.Others(primary)) set_.Signal(other, SIGSTOP);
  auto saved = std::async(std::launch::async, [&] {
    try {
      lock.Save();
      return true;
    } catch (const StoreException&) {
      // In doubt; or the primary had noticed that it was alone, and nothing was sent.
      return false;
    }
  });
  EXPECT_EQ(saved.wait_for(500ms), std::future_status::timeout) << "told before a majority has it";
  for (const int other : set_.Others(primary)) set_.Signal(other, SIGCONT);
  const bool done = saved.get();
  set_.Heal();
  const int n = (*things.Find("counter"))->value("n", -1);
  if (done) {
    EXPECT_EQ(n, 1);
    lock.Release();
  } else {
    EXPECT_TRUE(n == 0 || n == 1) << n;
  }
}

/// Writes as a program does that asks for no majority.
void WriteToPrimaryAlone(Database& database, const char* key, int n) {
  mongodb::Doc statement;
  statement.Add("q", mongodb::Doc::Of("_id", key));
  statement.Add("u", mongodb::Doc::Of("$set", mongodb::Doc::Of("n", n)));
  mongodb::Doc command;
  command.Add("update", "things").Add("updates", mongodb::Array().Add(statement));
  command.Add("writeConcern", mongodb::Doc::Of("w", 1));
  database.Run(command);
}

TEST_F(MongoFailover, ASearchShowsNothingThatMayBeRolledBack) {
  const Things things = OpenThings();
  things.Insert("a", nlohmann::json{{"n", 0}});
  for (int n = 1; n <= 5; ++n) {
    const int primary = set_.Primary();
    for (const int other : set_.Others(primary)) set_.Signal(other, SIGSTOP);
    std::vector<Snapshot<nlohmann::json>> found;
    try {
      WriteToPrimaryAlone(database_, "a", n);
      found = things.Find(Filter());
    } catch (const std::runtime_error&) {
      // The primary has noticed that it is alone: once more.
    }
    for (const int other : set_.Others(primary)) set_.Signal(other, SIGCONT);
    set_.Heal();
    if (found.empty()) continue;
    EXPECT_NE(found.front()->value("n", -1), n) << "no majority has it";
    return;
  }
  FAIL() << "no search was answered while the primary was alone";
}

TEST_F(MongoFailover, ARepositoryMayBeMadeDuringAStepdown) {
  const LockManager manager(OpenMongodbStore(database_.uri(), {.server_selection_timeout = 1min}));
  auto stepdown = std::async(std::launch::async, [&] { set_.StepDown(); });
  int made = 0;
  do {
    EXPECT_NO_THROW(Things(manager, "things" + std::to_string(++made)));
  } while (stepdown.wait_for(0s) != std::future_status::ready);
  stepdown.get();
  EXPECT_NO_THROW(Things(manager, "afterwards"));
}

TEST_F(MongoFailover, AFrozenPrimaryBoundsEveryCall) {
  constexpr auto kBudget = 500ms;
  // The driver's own bound is five minutes.
  constexpr auto kBound = 1min;
  // After this time (scripts/mongo_initiate.py) another member may be the primary, and answer.
  constexpr auto kElection = 1s;
  const auto store = OpenMongodbStore(
      database_.uri(), {.socket_timeout = kBudget, .server_selection_timeout = kBudget});
  Client client(store, "things", kBudget);
  const Key key("frozen");
  const Key missing("missing");
  const Uuid id = NewUuid();
  Client patient(OpenMongodbStore(database_.uri(), Patient()));
  const AcquireOp held = patient.Acquire(key, {.id = id, .insert = Counted(1), .ttl = kLong});
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);

  const std::vector<std::pair<const char*, std::function<OpStatus()>>> calls = {
      {"save",
       [&] {
         return client.Write(key, WriteKind::kCheckpoint, id, {.expected = held.result.version})
             .status;
       }},
      {"renew", [&] { return client.Renew(key, id, kLong).status; }},
      {"acquire", [&] { return client.Acquire(key, NewUuid()).status; }},
      {"insert", [&] { return client.Save(SaveKind::kInsert, missing, 0, {}, Counted(1)).status; }},
      {"read", [&] { return client.Read(key).status; }},
  };
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    const int primary = set_.Primary();
    set_.Signal(primary, SIGSTOP);
    const auto start = std::chrono::steady_clock::now();
    const OpStatus status = call();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    set_.Signal(primary, SIGCONT);
    EXPECT_LT(took, kBound);
    const bool unanswered = status == OpStatus::kInDoubt || status == OpStatus::kFailed;
    EXPECT_TRUE(unanswered || took > kElection) << static_cast<int>(status);
    if (std::string_view(name) == "read") {
      EXPECT_NE(status, OpStatus::kInDoubt);
    }
    std::cout << "[figures] " << name << ": " << took.count() << " s\n";
    set_.Heal();
  }
  // Only writes under way may have been done when the primary went on.
  const ReadOp read = patient.Read(key);
  ASSERT_EQ(read.status, OpStatus::kDone) << Why(read);
  EXPECT_EQ(read.result.lock_id, id);
  EXPECT_LE(read.result.version, held.result.version + 1);
}

TEST_F(MongoFailover, AWaiterIsWokenThroughTheNextPrimary) {
  LockManager manager(OpenMongodbStore(database_.uri(), Patient()),
                      {.poll_min = kLong, .poll_max = kLong});
  const Things waiting(manager, "things", {.ttl = kLong});
  const Things others = OpenThings(kLong, kElections);
  for (const bool kill : {false, true}) {
    SCOPED_TRACE(kill ? "killed" : "stepped down");
    auto held = others.Lock({"job", nlohmann::json::object()}, {.wait = kElections});
    auto waiter = std::async(std::launch::async, [&] {
      const auto lock = waiting.Lock("job", {.wait = 2 * kElections});
      return lock.fence();
    });
    EXPECT_EQ(waiter.wait_for(500ms), std::future_status::timeout);
    const int primary = set_.Primary();
    if (kill) {
      set_.Kill(primary);
      EXPECT_NE(set_.PrimaryOtherThan(primary), primary);
    } else {
      set_.StepDown();
    }
    held.Release();
    EXPECT_EQ(waiter.wait_for(kElections), std::future_status::ready) << "the release was not seen";
    waiter.get();
    set_.Heal();
  }
}

/// A process that is stopped past its lease and let go.
class StoppedHolder : public MongoFailover {
 protected:
  test::Child Hold(const std::string& key, std::chrono::milliseconds ttl) {
    test::Child holder({"hold", database_.uri(), key, std::to_string(ttl.count())});
    const auto line = holder.Line();
    EXPECT_TRUE(line && line->starts_with("held ")) << line.value_or("nothing");
    return holder;
  }
};

TEST_F(StoppedHolder, WritesNothingOnceTheLeaseIsOver) {
  const Things things = OpenThings(kLong);
  things.Insert("job", nlohmann::json{{"written by", "nobody"}});
  for (const std::string order : {"save", "release"}) {
    test::Child holder = Hold("job", 1s);
    holder.Signal(SIGSTOP);
    // The lease is not renewed, so it ends by itself.
    auto lock = things.Lock("job", {.wait = kElections});
    holder.Signal(SIGCONT);
    holder.Say(order);
    EXPECT_EQ(holder.Line(), "lost");
    (*lock)["written by"] = "the next one";
    lock.Release();
    EXPECT_EQ((**things.Find("job"))["written by"], "the next one");
  }
}

TEST_F(StoppedHolder, WritesNothingThoughItThinksThatItsLeaseGoesOn) {
  const Things things = OpenThings(kLong);
  things.Insert("job", nlohmann::json{{"written by", "nobody"}});
  Client client(OpenMongodbStore(database_.uri()));
  const Key key("job");
  for (const std::string order : {"save", "release"}) {
    test::Child holder = Hold("job", kLong);
    holder.Signal(SIGSTOP);
    client.Expire(key);
    auto lock = things.Lock("job", {.wait = kElections});
    holder.Signal(SIGCONT);
    holder.Say(order);
    EXPECT_EQ(holder.Line(), "lost");
    (*lock)["written by"] = "the next one";
    lock.Release();
    EXPECT_EQ((**things.Find("job"))["written by"], "the next one");
  }
}

/// It commits what no other member has, which shows "released" to a local read.
TEST_F(LonelyPrimary, ThatIsKilledBehindACommitTakesTheTransactionWithItAndItIsSentAnew) {
  MongoFailoverCommit commit(patient_, "a");
  std::future<void> replaced;
  commit.Run(
      [&] {
        const int primary = set_.Primary();
        for (const int other : set_.Others(primary)) set_.Kill(other);
        replaced = std::async(std::launch::async, [this, primary] {
          std::this_thread::sleep_for(300ms);  // the commit is under way
          Replace(primary);
        });
      },
      kElections);
  replaced.get();
  commit.ExpectStored();
  EXPECT_EQ(commit.calls(), 2);
}

}  // namespace
}  // namespace doclock::mongo_test
