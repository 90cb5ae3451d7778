#include "doclock/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "doclock/messages.h"
#include "doclock/observer.h"
#include "process/eventually.h"
#include "repository/support/harness.h"

#ifdef DOCLOCK_WITH_SQLITE
#include "doclock/stores/sqlite.h"
#include "process/temp_folder.h"
#endif

namespace doclock {

struct Job {
  std::string id;
  std::string stage = {};
  int balance = 0;
  Attempts attempts = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Job, id, stage, balance, attempts)

/// Its attempts are deeper, and have another name.
struct NestedJob {
  std::string id;
  Attempts tries = {};
};
inline void to_json(json& out, const NestedJob& job) {
  out = {{"id", job.id}, {"work", {{"tries", job.tries}}}};
}
inline void from_json(const json& in, NestedJob& job) {
  in.at("id").get_to(job.id);
  in.at("work").at("tries").get_to(job.tries);
}

struct ForgetfulJob {
  std::string id;
  Attempts attempts = {};
};
inline void to_json(json& out, const ForgetfulJob& job) { out = {{"id", job.id}}; }
inline void from_json(const json& in, ForgetfulJob& job) { in.at("id").get_to(job.id); }

namespace {

using test::Eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WorkerTest : public RepositoryTest {
 protected:
  using Step = std::function<Next(Job&, Transaction&)>;

  /// One that the test drives.
  static WorkOptions ByHand(WorkOptions options = {}) {
    options.threads = 0;
    return options;
  }
  Worker<Job> MakeWorker(Step step, WorkOptions options = {}) {
    return Worker(jobs, &Job::attempts, Filter(), std::move(step), ByHand(std::move(options)));
  }
  Worker<Job> Failing(WorkOptions options = {}) {
    return MakeWorker([](Job&, Transaction&) -> Next { throw std::runtime_error("no route"); },
                      std::move(options));
  }
  Job Find(const std::string& key) { return *jobs.Find(key).value(); }
  json StoredJob(const std::string& key) { return Stored(key, "jobs").value(); }

  LockingRepository<Job> jobs{manager, "jobs"};
  const Step done = [](Job&, Transaction&) { return Next::Done(); };
};

TEST_P(WorkerTest, AStepIsOneCommitOfItsEntityAndOfWhatItAdds) {
  jobs.Insert(Job{"a"});
  jobs.Insert(Job{"source", "", 100, {.due = Date::Now().time() + 24h}});
  jobs.Insert(Job{"target", "", 0, {.due = Date::Now().time() + 24h}});
  sagas.Insert(Saga{"s"});
  const Outbox outbox(manager);
  auto worker = MakeWorker([&](Job& job, Transaction& transaction) {
    job.stage = "moved";
    auto source = jobs.Find("source").value();
    source->balance -= 30;
    transaction.Save(jobs, std::move(source));
    auto target = jobs.Lock("target");
    target->balance += 30;
    transaction.Release(target);
    transaction.Erase(sagas, *sagas.Find("s"));
    outbox.Add(transaction, {.id = "m"});
    return Next::Done();
  });
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
  EXPECT_EQ(Find("a").stage, "moved");
  EXPECT_EQ(Find("source").balance, 70);
  EXPECT_EQ(Find("target").balance, 30);
  EXPECT_FALSE(Stored("s"));
  EXPECT_EQ(outbox.Status().pending, 1);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kNone);
}

TEST_P(WorkerTest, NothingOfAStepThatThrowsOrIsRefusedIsStored) {
  jobs.Insert(Job{"a", "new"});
  sagas.Insert(Saga{"there"});
  bool throws = true;
  auto worker = MakeWorker([&](Job& job, Transaction& transaction) {
    job.stage = "half";
    sagas.Lock("there")->step = "half";
    transaction.Insert(sagas, Saga{throws ? "here" : "there"});
    if (throws) throw std::runtime_error("no\nroute");
    return Next::Done();
  });
  EXPECT_EQ(worker.RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(Find("a").stage, "new");
  EXPECT_EQ(Find("a").attempts.failures, 1);
  EXPECT_EQ(Find("a").attempts.error, "no\\x0aroute");
  EXPECT_FALSE(Stored("here"));
  clock->Advance(1s);
  throws = false;
  EXPECT_EQ(worker.RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(Find("a").stage, "new");
  EXPECT_EQ(Find("a").attempts.failures, 2);
  EXPECT_EQ(Stored("there")->at("step"), "");
  clock->RunPending();  // releases in the background
  EXPECT_FALSE(IsLocked("there"));
  EXPECT_FALSE(IsLocked("a", "jobs"));
}

TEST_P(WorkerTest, FieldsThatTDoesNotKnowStayWhateverAStepDoes) {
  Put("a", {{"more", 1}, {"attempts", {{"due", Date()}, {"parked", false}, {"more", 2}}}}, "jobs");
  EXPECT_EQ(Failing().RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(StoredJob("a").at("more"), 1);
  EXPECT_EQ(StoredJob("a").at("attempts").at("more"), 2);
  clock->Advance(1s);
  EXPECT_EQ(MakeWorker(done).RunOne(), StepOutcome::kStored);
  EXPECT_EQ(StoredJob("a").at("more"), 1);
}

TEST_P(WorkerTest, PausesDoubleUntilTheDocumentIsParked) {
  jobs.Insert(Job{"a"});
  std::vector<std::pair<int, bool>> told;
  WorkOptions options{.max_attempts = 4, .retry_min = 10s, .retry_max = 30s};
  options.on_failure = [&](const Key& key, const Attempts& attempts, const std::exception_ptr&) {
    EXPECT_EQ(key, Key("a"));
    told.emplace_back(attempts.failures, attempts.parked);
  };
  auto worker = Failing(options);
  for (const auto pause : {10s, 20s, 30s}) {
    EXPECT_EQ(worker.RunOne(), StepOutcome::kFailed);
    clock->Advance(pause - 1s);
    EXPECT_EQ(worker.RunOne(), StepOutcome::kNone);
    clock->Advance(1s);
  }
  EXPECT_EQ(worker.RunOne(), StepOutcome::kParked);
  clock->Advance(24h);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kNone);
  EXPECT_THAT(told, ElementsAre(std::pair(1, false), std::pair(2, false), std::pair(3, false),
                                std::pair(4, true)));
  const auto parked = worker.Parked();
  ASSERT_EQ(parked.size(), 1U);
  EXPECT_EQ(parked[0].key, Key("a"));
  EXPECT_EQ(parked[0].attempts.failures, 4);
  EXPECT_EQ(parked[0].attempts.error, "no route");
}

TEST_P(WorkerTest, AParkedDocumentIsRetriedWithAllItsAttemptsOrDropped) {
  jobs.Insert(Job{"a"});
  jobs.Insert(Job{"b"});
  auto worker = Failing({.max_attempts = 1});
  EXPECT_FALSE(worker.Retry("a"));
  EXPECT_FALSE(worker.Drop("a"));
  EXPECT_EQ(worker.RunOne(), StepOutcome::kParked);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kParked);
  EXPECT_TRUE(worker.Retry("a"));
  EXPECT_EQ(Find("a").attempts.failures, 0);
  EXPECT_TRUE(worker.Drop("b"));
  EXPECT_FALSE(Stored("b", "jobs"));
  EXPECT_EQ(MakeWorker(done).RunOne(), StepOutcome::kStored);
  EXPECT_THROW(worker.Retry("b"), NotFoundException);
  EXPECT_THROW(worker.Drop("b"), NotFoundException);
}

TEST_P(WorkerTest, ASuccessBeginsToCountAnew) {
  jobs.Insert(Job{"a"});
  EXPECT_EQ(Failing().RunOne(), StepOutcome::kFailed);
  clock->Advance(1s);
  EXPECT_EQ(MakeWorker([](Job&, Transaction&) { return Next::Now(); }).RunOne(),
            StepOutcome::kStored);
  EXPECT_EQ(Find("a").attempts.failures, 0);
  EXPECT_EQ(Find("a").attempts.error, "");
}

TEST_P(WorkerTest, NextTellsWhenTheNextStepIsDue) {
  jobs.Insert(Job{"a"});
  const Date now = manager.StoreTime();
  std::vector<std::pair<Next, Duration>> nexts{
      {Next::Now(), {}},
      {Next::After(5s), 5s},
      {Next::At(now.time() + 20s), 15s},
      {Next::At(Date()), {}},
      {Next::At(std::chrono::sys_days(std::chrono::year(2020) / 1 / 1)), {}}};
  std::size_t steps = 0;
  auto worker = MakeWorker([&](Job&, Transaction&) { return nexts.at(steps++).first; });
  for (const auto& [next, wait] : nexts) {
    EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
    if (wait == Duration()) continue;
    clock->Advance(wait.ms() - 1ms);
    EXPECT_EQ(worker.RunOne(), StepOutcome::kNone);
    clock->Advance(1ms);
  }
  EXPECT_THROW(Next::After(-1ms), std::invalid_argument);
}

TEST_P(WorkerTest, FarDatesAreNotDueAndHoldUpNoWaitingSearch) {
  jobs.Insert(Job{"never"});
  jobs.Insert(Job{"9999"});
  jobs.Insert(Job{"done"});
  auto worker = MakeWorker([&](Job& job, Transaction&) {
    if (job.id == "never") return Next::After(Duration::Max());
    if (job.id == "9999") return Next::At(std::chrono::sys_days(std::chrono::year(9999) / 1 / 1));
    return Next::Done();
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
  EXPECT_EQ(worker.RunOne(1h), StepOutcome::kNone);
  jobs.Insert(Job{"later", "", 0, {.due = manager.StoreTime().time() + 10min}});
  EXPECT_EQ(worker.RunOne(1h), StepOutcome::kStored);
  EXPECT_THAT(worker.Parked(), IsEmpty());
}

TEST_P(WorkerTest, EraseDeletesTheDocumentInTheCommit) {
  jobs.Insert(Job{"a"});
  sagas.Insert(Saga{"there"});
  std::string id = "there";
  auto worker = MakeWorker([&](Job&, Transaction& transaction) {
    transaction.Insert(sagas, Saga{id});
    return Next::Erase();
  });
  EXPECT_EQ(worker.RunOne(), StepOutcome::kFailed);
  EXPECT_TRUE(Stored("a", "jobs"));
  clock->Advance(1s);
  id = "new";
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
  EXPECT_FALSE(Stored("a", "jobs"));
  jobs.Insert(Job{"b"});
  Worker<Job> alone(
      jobs, &Job::attempts, Filter(), [](Job&) { return Next::Erase(); }, ByHand());
  EXPECT_EQ(alone.RunOne(), StepOutcome::kStored);
  EXPECT_FALSE(Stored("b", "jobs"));
}

TEST_P(WorkerTest, ItTakesWhatMatchesTheFilterInTheOrderOfTheirDates) {
  jobs.Insert(Job{"a", "open", 0, {.due = Date(std::chrono::sys_seconds(3s))}});
  jobs.Insert(Job{"b", "open", 0, {.due = Date(std::chrono::sys_seconds(1s))}});
  jobs.Insert(Job{"c", "open", 0, {.due = Date(std::chrono::sys_seconds(2s))}});
  jobs.Insert(Job{"d", "closed"});
  std::vector<std::string> steps;
  Worker<Job> worker(
      jobs, &Job::attempts, Filter().Equal("stage", "open"),
      [&](Job& job) {
        steps.push_back(job.id);
        if (job.id == "b") job.stage = "closed";  // so it does not match any more
        return Next::Now();
      },
      ByHand());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
    clock->Advance(1ms);
  }
  EXPECT_THAT(steps, ElementsAre("b", "c", "a", "c", "a"));
}

TEST_P(WorkerTest, TheAttemptsMayHaveAnyNameAndPlace) {
  LockingRepository<NestedJob> nested(manager, "nested");
  nested.Insert(NestedJob{"a"});
  Worker<NestedJob> worker(
      nested, &NestedJob::tries, Filter(),
      [](NestedJob&) -> Next { throw std::runtime_error("no"); }, ByHand());
  EXPECT_EQ(worker.RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(Stored("a", "nested")->at("work").at("tries").at("failures"), 1);
}

TEST_P(WorkerTest, WrongArgumentsAreRefusedByName) {
  const auto why = [&](Filter filter, WorkOptions options) -> std::string {
    options.threads = options.threads == 1 ? 0 : options.threads;
    return ThrownBy<std::invalid_argument>([&] {
             Worker<Job>(jobs, &Job::attempts, std::move(filter), done, std::move(options));
           })
        .what();
  };
  EXPECT_THAT(why({}, {.threads = -1}), HasSubstr("WorkOptions::threads"));
  EXPECT_THAT(why({}, {.threads = 65}), HasSubstr("WorkOptions::threads"));
  EXPECT_THAT(why({}, {.max_attempts = 0}), HasSubstr("WorkOptions::max_attempts"));
  EXPECT_THAT(why({}, {.retry_min = -1s}), HasSubstr("WorkOptions::retry_min"));
  EXPECT_THAT(why({}, {.retry_min = 2s, .retry_max = 1s}), HasSubstr("WorkOptions::retry_max"));
  EXPECT_THAT(why({}, {.retry_max = kForever}), HasSubstr("WorkOptions::retry_max"));
  EXPECT_THAT(why(Filter().OrderBy("stage"), {}), HasSubstr("conditions alone"));
  EXPECT_THAT(why(Filter().Limit(1), {}), HasSubstr("conditions alone"));
  EXPECT_THAT(why(Filter().Free(), {}), HasSubstr("conditions alone"));
  EXPECT_THAT(why(Filter().Due("stage"), {}), HasSubstr("no Due"));
  LockingRepository<ForgetfulJob> forgetful(manager, "forgetful");
  EXPECT_THAT(ThrownBy<std::invalid_argument>([&] {
                Worker<ForgetfulJob>(forgetful, &ForgetfulJob::attempts, Filter(),
                                     [](ForgetfulJob&) { return Next::Done(); });
              }).what(),
              HasSubstr("does not have its Attempts"));
}

TEST_P(WorkerTest, ADocumentThatNoSearchFindsIsParkedUntilItIsRetriedOrDropped) {
  const json due = Date();
  const std::map<std::string, json> all{{"has none", nullptr},
                                        {"no parked", {{"due", due}}},
                                        {"parked is 0", {{"due", due}, {"parked", 0}}},
                                        {"due is null", {{"due", nullptr}, {"parked", false}}},
                                        {"due is text", {{"due", "2020"}, {"parked", false}}},
                                        {"parked alone", {{"parked", true}}}};
  for (const auto& [key, attempts] : all) Put(key, {{"attempts", attempts}}, "jobs");
  Put("lacks them", {{"stage", "old"}}, "jobs");
  auto worker = MakeWorker(done);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kNone);
  EXPECT_EQ(worker.Status().parked, 7);
  const auto parked = worker.Parked();
  ASSERT_EQ(parked.size(), 7U);
  for (const ParkedWork& one : parked) {
    if (one.key == Key("parked alone")) continue;
    EXPECT_FALSE(one.attempts.parked);
    EXPECT_THAT(one.attempts.error, HasSubstr("no attempts that a worker understands"));
  }
  EXPECT_TRUE(worker.Drop("due is text"));
  for (const ParkedWork& one : worker.Parked()) EXPECT_TRUE(worker.Retry(one.key));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
}

TEST_P(WorkerTest, RetryOverwritesNothingElse) {
  LockingRepository<NestedJob> nested(manager, "nested");
  const json text = {{"work", "a text"}}, number = {{"work", {{"tries", 5}}}};
  Put("text", text, "nested");
  Put("number", number, "nested");
  Worker<NestedJob> worker(
      nested, &NestedJob::tries, Filter(), [](NestedJob&) { return Next::Done(); }, ByHand());
  const auto why = [&](const char* key) -> std::string {
    return ThrownBy<std::invalid_argument>([&] { worker.Retry(key); }).what();
  };
  EXPECT_THAT(why("text"), HasSubstr("'work' of document 'text'"));
  EXPECT_THAT(why("number"), HasSubstr("'tries' of document 'number'"));
  EXPECT_EQ(Stored("text", "nested")->at("work"), "a text");
  EXPECT_EQ(Stored("number", "nested")->at("work").at("tries"), 5);
}

TEST_P(WorkerTest, ADocumentThatTCannotReadIsPutAsideAndHoldsUpNoOther) {
  const json due = {{"due", Date()}, {"parked", false}};
  Put("bad stage", {{"stage", 5}, {"attempts", due}}, "jobs");
  json bad_count = due;
  bad_count["failures"] = "many";
  Put("bad count", {{"attempts", bad_count}}, "jobs");
  json huge_count = due;
  huge_count["failures"] = std::numeric_limits<std::int64_t>::max();
  Put("huge count", {{"attempts", huge_count}}, "jobs");
  jobs.Insert(Job{"good"});
  std::vector<std::string> steps;
  auto worker = MakeWorker([&](Job& job, Transaction&) {
    steps.push_back(job.id);
    return Next::Done();
  });
  std::map<StepOutcome, int> outcomes;
  for (int i = 0; i < 5; ++i) ++outcomes[worker.RunOne()];
  EXPECT_EQ(outcomes[StepOutcome::kParked], 2);
  EXPECT_EQ(outcomes[StepOutcome::kStored], 2);
  EXPECT_THAT(steps, ::testing::UnorderedElementsAre("good", "huge count"));
  EXPECT_EQ(StoredJob("bad stage").at("stage"), 5);
  EXPECT_THAT(StoredJob("bad stage").at("attempts").at("error").get<std::string>(),
              HasSubstr("stage"));
  EXPECT_EQ(worker.Parked().size(), 2U);
  EXPECT_TRUE(worker.Drop("bad count"));
}

TEST_P(WorkerTest, WhatClassifyCallsHopelessIsParkedAtOnce) {
  jobs.Insert(Job{"a"});
  jobs.Insert(Job{"b"});
  const Inbox inbox(manager);
  auto bug = MakeWorker([](Job&, Transaction&) -> Next { throw std::logic_error("a bug"); });
  EXPECT_EQ(bug.RunOne(), StepOutcome::kParked);
  EXPECT_EQ(Find("a").attempts.failures, 1);
  EXPECT_TRUE(bug.Retry("a"));
  auto accepting = MakeWorker([&](Job&, Transaction& transaction) {
    inbox.Accept(transaction, "m");
    return Next::Done();
  });
  EXPECT_EQ(accepting.RunOne(), StepOutcome::kStored);
  EXPECT_EQ(accepting.RunOne(), StepOutcome::kParked);  // nothing would change by trying again
}

TEST_P(WorkerTest, AnythingThatIsThrownCounts) {
  jobs.Insert(Job{"a"});
  EXPECT_EQ(MakeWorker([](Job&, Transaction&) -> Next { throw 5; }).RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(Find("a").attempts.error, "unknown");
}

TEST_P(WorkerTest, AStepThatMeetsAQuickerClientIsMadeAgainAtOnce) {
  jobs.Insert(Job{"a"});
  sagas.Insert(Saga{"s"});
  int steps = 0, meets = 2;
  auto worker = MakeWorker([&](Job& job, Transaction& transaction) {
    ++steps;
    EXPECT_EQ(job.stage, "");
    job.stage = "done";
    auto saga = sagas.Find("s").value();
    if (meets-- > 0) sagas.Update("s", [](Saga& other) { ++other.attempts; });
    transaction.Save(sagas, std::move(saga));
    return Next::Done();
  });
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
  EXPECT_EQ(steps, 3);
  ASSERT_TRUE(Find("a").stage == "done");
  jobs.Insert(Job{"b"});
  meets = 1000;
  EXPECT_EQ(worker.RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(steps, 9);
  EXPECT_EQ(Find("b").attempts.failures, 1);
}

TEST_P(WorkerTest, AStepThatCommitsItselfOrLendsASnapshotIsParked) {
  jobs.Insert(Job{"a"});
  jobs.Insert(Job{"b"});
  jobs.Insert(Job{"c"});
  sagas.Insert(Saga{"s"});
  auto worker = MakeWorker([&](Job& job, Transaction& transaction) {
    if (job.id == "a") transaction.Commit();
    auto saga = sagas.Find("s").value();
    saga->step = "half";
    if (job.id == "b") transaction.Save(sagas, saga);
    transaction.Erase(jobs, *jobs.Find(job.id));  // which the worker has named
    return Next::Done();
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(worker.RunOne(), StepOutcome::kParked);
  EXPECT_THAT(Find("a").attempts.error, HasSubstr("Worker commits"));
  EXPECT_THAT(Find("b").attempts.error, HasSubstr("std::move"));
  EXPECT_THAT(Find("c").attempts.error, HasSubstr("in the transaction already"));
  EXPECT_EQ(Stored("s")->at("step"), "");
}

TEST_P(WorkerTest, ALostLeaseIsNotCountedAndStoresNothing) {
  jobs.Insert(Job{"a"});
  auto worker = MakeWorker([&](Job& job, Transaction&) {
    job.stage = "half";
    StealLock(*store, "jobs", "a");
    return Next::Done();
  });
  EXPECT_EQ(CodeOf([&] { worker.RunOne(); }), Errc::kLost);
  EXPECT_EQ(Find("a").stage, "");
  EXPECT_EQ(Find("a").attempts.failures, 0);
}

TEST_P(WorkerTest, ACommitInDoubtIsNotCounted) {
  jobs.Insert(Job{"a"});
  auto worker = MakeWorker([&](Job& job, Transaction&) {
    job.stage = "half";
    return Next::Done();
  });
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .times = 100});
  EXPECT_EQ(CodeOf([&] { worker.RunOne(); }), Errc::kInDoubt);
  store->Heal();
  clock->Advance(1min);
  EXPECT_EQ(Find("a").attempts.failures, 0);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
}

TEST_P(WorkerTest, AStoreThatIsAwayCountsNothing) {
  jobs.Insert(Job{"a"});
  std::vector<int> told;
  WorkOptions options;
  options.on_failure = [&](const Key&, const Attempts& attempts, const std::exception_ptr&) {
    told.push_back(attempts.failures);
  };
  auto worker = MakeWorker(done, options);
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite, .times = 2});
  EXPECT_EQ(CodeOf([&] { worker.RunOne(); }), Errc::kUnavailable);
  EXPECT_EQ(store->Heal(), 0);
  EXPECT_EQ(told.size(), 1U);
  clock->Advance(1min);
  EXPECT_EQ(Find("a").attempts.failures, 0);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
}

TEST_P(WorkerTest, InAnOutageOneFailureOfTenCounts) {
  for (const char* const id : {"a", "b", "c", "d"}) jobs.Insert(Job{id});
  auto failing = Failing({.retry_max = 1min});
  int steps = 0;
  for (; steps < 4; ++steps) EXPECT_EQ(failing.RunOne(), StepOutcome::kFailed);
  clock->Advance(10s);
  EXPECT_EQ(failing.RunOne(), StepOutcome::kFailed);  // the outage has lasted 10 s, so it pauses so
  clock->Advance(9s);
  for (++steps; failing.RunOne() != StepOutcome::kNone; ++steps) {
  }
  clock->Advance(1s);
  EXPECT_EQ(failing.RunOne(), StepOutcome::kFailed);
  for (++steps; steps < 2 + 30;) {
    if (failing.RunOne() == StepOutcome::kNone) {
      clock->Advance(1min);
    } else {
      ++steps;
    }
  }
  int counted = 0;
  jobs.ForEach(Filter(), [&](Snapshot<Job>& job) { counted += job->attempts.failures; });
  EXPECT_EQ(counted, 2 + 3);  // two failed before it was an outage
}

TEST_P(WorkerTest, AnOutageOfAnHourParksFewAndEndsAtTheFirstSuccess) {
  for (int i = 0; i < 20; ++i) jobs.Insert(Job{std::to_string(i)});
  bool is_away = true;
  auto worker = MakeWorker([&](Job&, Transaction&) {
    return is_away ? throw std::runtime_error("away") : Next::Done();
  });
  const auto work = [&](int minutes) {
    for (; minutes > 0; --minutes) {
      while (worker.RunOne() != StepOutcome::kNone) {
      }
      clock->Advance(1min);
    }
  };
  work(60);
  const WorkStatus status = worker.Status();
  EXPECT_LE(status.parked, 3);
  is_away = false;
  work(6);
  EXPECT_EQ(worker.Status().done, 20 - status.parked);
}

TEST_P(WorkerTest, EachBrokenDocumentIsParkedInTheEnd) {
  for (int i = 0; i < 10; ++i) jobs.Insert(Job{std::to_string(i)});
  const WorkOptions options{.max_attempts = 5, .retry_max = 1s};
  auto failing = Failing(options);
  const auto work = [&](const std::vector<Worker<Job>*>& workers, int rounds) {
    for (; rounds > 0; --rounds) {
      for (Worker<Job>* const worker : workers) {
        for (int i = 0; i < 5; ++i) worker->RunOne();
      }
      clock->Advance(1s);
    }
  };
  {
    auto leaving = Failing(options);
    work({&failing, &leaving}, 15);
  }
  jobs.Erase(jobs.Find(Filter().Equal("attempts.parked", false)).at(0).key());
  work({&failing}, 200);
  EXPECT_EQ(failing.Parked().size(), 9U);
}

TEST_P(WorkerTest, AHealthyDocumentWaitsForOneStepOfEachBrokenOne) {
  for (int i = 0; i < 10; ++i) jobs.Insert(Job{std::to_string(i)});
  auto worker = MakeWorker([&](Job& job, Transaction&) {
    return job.id == "healthy" ? Next::Done() : throw std::runtime_error("broken");
  });
  for (int i = 0; i < 10; ++i) {
    while (worker.RunOne() != StepOutcome::kNone) {
    }
    clock->Advance(5min);
  }
  jobs.Insert(Job{"healthy", "", 0, {.due = manager.StoreTime()}});
  int steps = 1;
  while (worker.RunOne() != StepOutcome::kStored) ++steps;
  EXPECT_LE(steps, 11);
}

TEST_P(WorkerTest, AFailureWithoutRoomForItsTextIsStoredAllTheSame) {
  jobs.Insert(Job{"a"});
  auto failing = Failing();
  store->Inject({.kind = Fault::Kind::kRefused, .op = OpKind::kWrite});  // as for its size
  EXPECT_EQ(failing.RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(Find("a").attempts.failures, 1);
  EXPECT_EQ(Find("a").attempts.error, "");
  EXPECT_EQ(failing.RunOne(), StepOutcome::kNone);
}

TEST_P(WorkerTest, ALockThatAWorkerLeftBehindCountsAnInterruption) {
  jobs.Insert(Job{"a"});
  int interruptions = 0;
  auto worker = MakeWorker([&](Job& job, Transaction&) {
    interruptions = job.attempts.interruptions;
    return Next::Now();
  });
  {
    LockManager killed = AnotherManager();
    LockingRepository<Job>(killed, "jobs").Lock("a", {.ttl = 10s}).Detach();
  }
  EXPECT_EQ(worker.RunOne(1min), StepOutcome::kStored);
  EXPECT_EQ(interruptions, 1);
  EXPECT_EQ(Find("a").attempts.interruptions, 0);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
  EXPECT_EQ(interruptions, 0);
}

TEST_P(WorkerTest, TwentyInterruptionsInARowParkADocument) {
  jobs.Insert(Job{"a", "", 0, {.interruptions = 19}});
  jobs.Lock("a", {.ttl = 10s}).Detach();
  auto worker = MakeWorker(done);
  EXPECT_EQ(worker.RunOne(1min), StepOutcome::kParked);
  EXPECT_EQ(Find("a").attempts.interruptions, 20);
  EXPECT_THAT(Find("a").attempts.error, HasSubstr("20 workers"));
  EXPECT_FALSE(IsLocked("a", "jobs"));
}

TEST_P(WorkerTest, AStepMayStopTheWorkerOrCloseTheManager) {
  jobs.Insert(Job{"a"});
  std::vector<Key> under_way;
  Worker<Job>* self = nullptr;
  auto worker = MakeWorker([&](Job&, Transaction&) {
    under_way = self->Stop();
    return Next::Now();
  });
  self = &worker;
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
  EXPECT_THAT(under_way, ElementsAre(Key("a")));
  EXPECT_THAT(worker.Stop(), IsEmpty());
  LockManager other = AnotherManager();
  LockingRepository<Job> its(other, "jobs");
  Worker<Job> closing(
      its, &Job::attempts, Filter(),
      [&](Job&) {
        other.Close();
        return Next::Now();
      },
      ByHand());
  EXPECT_EQ(CodeOf([&] { closing.RunOne(); }), Errc::kClosed);
  EXPECT_EQ(Find("a").attempts.failures, 0);
}

TEST_P(WorkerTest, AStepMayDestroyTheWorkerThatRunsOne) {
  jobs.Insert(Job{"a"});
  std::optional<Worker<Job>> worker;
  const auto step = [&](Job&, Transaction&) {
    worker.reset();
    return Next::Done();
  };
  worker.emplace(jobs, &Job::attempts, Filter(), step, ByHand());
  EXPECT_EQ(worker->RunOne(), StepOutcome::kStored);
  EXPECT_FALSE(IsLocked("a", "jobs"));
}

DOCLOCK_FOR_ALL_STORES(WorkerTest);

class WorkerThreadsTest : public ThreadsTest {
 protected:
  LockingRepository<Job> jobs{manager, "jobs"};
};

TEST_P(WorkerThreadsTest, EachDocumentIsWorkedOnByOneThreadAtATime) {
  static constexpr int kJobs = 20, kSteps = 3;
  for (int i = 0; i < kJobs; ++i) jobs.Insert(Job{std::to_string(i)});
  std::mutex mutex;
  std::map<std::string, int> inside;
  bool twice = false;
  std::atomic<int> ended = 0;
  const auto step = [&](Job& job) {
    {
      const std::scoped_lock lock(mutex);
      twice |= ++inside[job.id] > 1;
    }
    std::this_thread::yield();
    const std::scoped_lock lock(mutex);
    --inside[job.id];
    if (++job.balance < kSteps) return Next::Now();
    ++ended;
    return Next::Done();
  };
  LockManager other(store);
  Worker<Job> here(jobs, &Job::attempts, Filter(), step, {.threads = 4});
  Worker<Job> there(LockingRepository<Job>(other, "jobs"), &Job::attempts, Filter(), step,
                    {.threads = 4});
  EXPECT_TRUE(Eventually([&] { return ended == kJobs; }));
  EXPECT_THAT(here.Stop(), IsEmpty());
  EXPECT_THAT(there.Stop(), IsEmpty());
  EXPECT_FALSE(twice);
  jobs.ForEach(Filter(), [](Snapshot<Job>& job) { EXPECT_EQ(job->balance, kSteps); });
}

TEST_P(WorkerThreadsTest, StopTellsWhichStepsHaveNotEnded) {
  jobs.Insert(Job{"a"});
  std::atomic<bool> began = false, may_end = false;
  Worker<Job> worker(jobs, &Job::attempts, Filter(), [&](Job&) {
    began = true;
    may_end.wait(false);
    return Next::Done();
  });
  ASSERT_TRUE(Eventually([&] { return began.load(); }));
  EXPECT_THAT(worker.Stop(1ms), ElementsAre(Key("a")));
  may_end = true;
  may_end.notify_all();
  EXPECT_THAT(worker.Stop(), IsEmpty());
  jobs.Insert(Job{"b"});
  EXPECT_EQ(jobs.Find("b").value()->attempts.failures, 0);
}

TEST_P(WorkerThreadsTest, AnOutageIsOverAtTheFirstSuccess) {
  for (int i = 0; i < 6; ++i) jobs.Insert(Job{std::to_string(i)});
  std::atomic<bool> is_away = true;
  std::atomic<int> failed = 0, ended = 0;
  Worker<Job> worker(jobs, &Job::attempts, Filter(),
                     [&](Job&) {
                       if (is_away) {
                         ++failed;
                         throw std::runtime_error("away");
                       }
                       ++ended;
                       return Next::Done();
                     },
                     {.threads = 3, .retry_min = 1ms, .retry_max = 10ms});
  ASSERT_TRUE(Eventually([&] { return failed > 20; }));
  is_away = false;
  EXPECT_TRUE(Eventually([&] {
    for (const ParkedWork& parked : worker.Parked()) worker.Retry(parked.key);
    return ended == 6;
  }));
}

TEST_P(WorkerThreadsTest, AStepMayDestroyTheWorkerInAnOutage) {
  for (int i = 0; i < 4; ++i) jobs.Insert(Job{std::to_string(i)});
  std::atomic<bool> gone = false, ready = false;
  std::atomic<int> steps = 0;
  std::optional<Worker<Job>> worker;
  const auto step = [&](Job&) {
    ready.wait(false);
    const int number = ++steps;
    if (number < 10) throw std::runtime_error("away");
    if (number == 10) {
      worker.reset();
      gone = true;
    }
    return Next::Done();
  };
  worker.emplace(jobs, &Job::attempts, Filter(), step,
                 WorkOptions{.threads = 2, .retry_min = 1ms, .retry_max = 10ms});
  ready = true;
  ready.notify_all();
  EXPECT_TRUE(Eventually([&] { return gone.load(); }));
  EXPECT_TRUE(Eventually([&] { return jobs.Find(Filter().Locked()).empty(); }));
}

TEST_P(WorkerThreadsTest, StepsThatStopTheWorkerDoNotWaitForEachOther) {
  jobs.Insert(Job{"a"});
  jobs.Insert(Job{"b"});
  std::latch both(2);
  std::atomic<Worker<Job>*> self = nullptr;
  std::atomic<int> ended = 0;
  const auto step = [&](Job&) {
    self.wait(nullptr);
    both.arrive_and_wait();
    self.load()->Stop();
    ++ended;
    return Next::Done();
  };
  Worker<Job> worker(jobs, &Job::attempts, Filter(), step, {.threads = 2});
  self = &worker;
  self.notify_all();
  EXPECT_TRUE(Eventually([&] { return ended == 2; }));
}

TEST_P(WorkerThreadsTest, AnotherManagerThatIsClosedEndsNoThread) {
  struct Watch final : Observer {
    void OnLost(const LockEvent&) override {
      lost = true;
      lost.notify_all();
    }
    std::atomic<bool> lost = false;
  };
  const auto watch = std::make_shared<Watch>();
  LockManager watched(store, {.observer = watch});
  const LockingRepository<Job> brief(watched, "brief", {.ttl = 1s});
  LockManager closed(store);
  closed.Close();
  brief.Insert(Job{"a"});
  std::atomic<int> errors = 0;
  std::atomic<bool> is_done = false;
  WorkOptions options;
  options.on_error = [&](const std::exception_ptr&) { ++errors; };
  Worker<Job> worker(
      brief, &Job::attempts, Filter(),
      [&](Job&) {
        if (!watch->lost) {
          StealLock(*store, "brief", "a");
          watch->lost.wait(false);
          (void)LockingRepository<Job>(closed, "jobs").Find("a");  // throws kClosed
        }
        is_done = true;
        return Next::Done();
      },
      options);
  ASSERT_TRUE(Eventually([&] { return errors == 1; }));
  brief.Insert(Job{"b"});
  EXPECT_TRUE(Eventually([&] { return is_done.load(); }));
}

TEST_P(WorkerThreadsTest, ItsThreadsEndIfTheManagerIsClosed) {
  std::atomic<int> errors = 0;
  std::atomic<bool> made = false;
  WorkOptions options{.threads = 2};
  options.on_error = [&](const std::exception_ptr&) { ++errors; };
  jobs.Insert(Job{"a"});
  {
    const auto step = [&](Job&) {
      made = true;
      return Next::Done();
    };
    Worker<Job> worker(jobs, &Job::attempts, Filter(), step, options);
    ASSERT_TRUE(Eventually([&] { return made && !jobs.Find("a").value().locked(); }));
    manager.Close();
  }
  EXPECT_EQ(errors, 0);
}

DOCLOCK_FOR_ALL_STORES(WorkerThreadsTest);

#ifdef DOCLOCK_WITH_SQLITE
std::shared_ptr<Store> OpenFile(std::shared_ptr<const Clock> clock) {
  static const test::TempFolder folder;
  static int files = 0;
  return OpenSqliteStore(folder / (std::to_string(++files) + ".db"),
                         {.sync = SqliteSync::kOff, .clock = std::move(clock)});
}
INSTANTIATE_TEST_SUITE_P(File, WorkerTest, ::testing::Values(StoreKind{"Sqlite", OpenFile}),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(File, WorkerThreadsTest, ::testing::Values(StoreKind{"Sqlite", OpenFile}),
                         NameOf);
#endif

}  // namespace
}  // namespace doclock
