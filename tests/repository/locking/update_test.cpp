#include <atomic>
#include <thread>

#include "repository/support/harness.h"

namespace doclock {
namespace {

class UpdateTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(UpdateTest);

TEST_P(UpdateTest, ChangesTheDocument) {
  Put("42", {{"step", "new"}, {"attempts", 1}, {"foreign", 1}});
  sagas.Update("42", [](Saga& saga) { ++saga.attempts; });
  auto increment = [](Saga& saga) { ++saga.attempts; };
  Get(sagas.UpdateAsync("42", increment));
  EXPECT_EQ(Stored("42"), json({{"step", "new"}, {"attempts", 3}, {"foreign", 1}}));
  EXPECT_FALSE(IsLocked("42"));
}

TEST_P(UpdateTest, AMissingDocumentIsNotFound) {
  bool called = false;
  EXPECT_THROW(sagas.Update("42", [&](Saga&) { called = true; }), NotFoundException);
  EXPECT_THROW(Get(sagas.UpdateAsync("42", [&](Saga&) { called = true; })), NotFoundException);
  EXPECT_FALSE(called);
}

TEST_P(UpdateTest, CreatesTheDocumentFromTheEntityIfItIsMissing) {
  auto increment = [](Saga& saga) { ++saga.attempts; };
  for (int retries : {5, 0}) {
    const LockingRepository<Saga> repository(manager, "sagas", {.update_retries = retries});
    for (int i = 0; i < 2; ++i) {
      repository.Update(Saga{"blocking", "new", 10}, increment);
      Get(repository.UpdateAsync({"async", Saga{"async", "new", 20}},
                                 [](auto&& saga) { ++saga.attempts; }));
      const Saga other{"other"};
      Get(repository.UpdateAsync(other, increment));
    }
    EXPECT_EQ(Stored("blocking"), json({{"step", "new"}, {"attempts", 12}}));
    EXPECT_EQ(Stored("async")->at("attempts"), 22);
    EXPECT_EQ(Stored("other")->at("attempts"), 2);
    EXPECT_FALSE(IsLocked("blocking") || IsLocked("async"));
    for (const char* key : {"blocking", "async", "other"}) repository.Erase(key);
  }
}

TEST_P(UpdateTest, MeetsADocumentThatAnotherClientCreatedMeanwhile) {
  int calls = 0;
  const auto create = [&](Saga& saga) {
    if (++calls == 1) sagas.Insert(Saga{"42", "others", 5});
    ++saga.attempts;
  };
  sagas.Update(Saga{"42", "new"}, create);
  EXPECT_EQ(Stored("42"), json({{"step", "others"}, {"attempts", 6}}));
  sagas.Erase("42");
  calls = 0;
  const Saga saga{"42"};
  Get(sagas.UpdateAsync(saga, create));
  EXPECT_EQ(Stored("42")->at("attempts"), 6);
  EXPECT_EQ(calls, 2);
}

TEST_P(UpdateTest, BeginsAgainWhenAnotherClientWasFaster) {
  sagas.Insert(Saga{"42"});
  int calls = 0;
  sagas.Update("42", [&](Saga& saga) {
    if (++calls <= 2) {
      auto other = sagas.Find("42");
      (*other)->attempts += 10;
      sagas.Save(*other);
    }
    ++saga.attempts;
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ((*Stored("42"))["attempts"], 21);
}

TEST_P(UpdateTest, TakesTheLockAfterSoManyAttempts) {
  const LockingRepository<Saga> repository(manager, "sagas", {.update_retries = 3});
  for (const bool async : {false, true}) {
    const std::string key = async ? "async" : "blocking";
    repository.Insert(Saga{key});
    int calls = 0;
    auto change = [&](Saga& saga) {
      if (++calls <= 3) {
        auto other = repository.Find(key);
        repository.Save(*other);
      } else {
        EXPECT_TRUE(IsLocked(key));
      }
      ++saga.attempts;
    };
    async ? Get(repository.UpdateAsync(key, change)) : repository.Update(key, change);
    EXPECT_EQ(calls, 4);
    EXPECT_EQ((*Stored(key))["attempts"], 1);
    EXPECT_FALSE(IsLocked(key));
  }
}

TEST_P(UpdateTest, WithoutRetriesTakesTheLockAtOnce) {
  const LockingRepository<Saga> repository(manager, "sagas", {.update_retries = 0});
  repository.Insert(Saga{"42"});
  auto check = [&](Saga& saga) {
    EXPECT_TRUE(IsLocked("42"));
    ++saga.attempts;
  };
  repository.Update("42", check);
  Get(repository.UpdateAsync("42", check));
  EXPECT_EQ((*Stored("42"))["attempts"], 2);
  EXPECT_FALSE(IsLocked("42"));
}

TEST_P(UpdateTest, WaitsForALock) {
  auto lock = sagas.Lock({"42", Saga{"42"}});
  auto update = sagas.UpdateAsync("42", [](Saga& saga) { ++saga.attempts; });
  clock->Advance(5s);
  EXPECT_EQ(update.wait_for(0s), std::future_status::timeout);
  lock->attempts = 10;
  lock.Release();
  clock->RunPending();
  update.get();
  EXPECT_EQ((*Stored("42"))["attempts"], 11);
}

TEST_P(UpdateTest, GivesUpOnALockInTheEnd) {
  auto lock = sagas.Lock({"42", Saga{"42"}});
  EXPECT_EQ(CodeOf([&] { sagas.Update("42", [](Saga&) {}); }), Errc::kTimedOut);
  auto update = sagas.UpdateAsync("42", [](Saga&) {});
  clock->Advance(31s);
  EXPECT_EQ(CodeOf([&] { update.get(); }), Errc::kTimedOut);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(CodeOf([&] {
              sagas.Update(
                  "42", [](Saga&) {}, stop.get_token());
            }),
            Errc::kCancelled);
}

TEST_P(UpdateTest, AnExceptionEndsItWithNothingWritten) {
  EXPECT_THROW(sagas.Update(Saga{"43"}, [](Saga&) { throw std::range_error("no"); }),
               std::range_error);
  EXPECT_FALSE(Stored("43")) << "not created";
  sagas.Insert(Saga{"42", "new"});
  for (const int retries : {0, 5}) {
    const LockingRepository<Saga> repository(manager, "sagas", {.update_retries = retries});
    auto fail = [](Saga& saga) {
      saga.step = "half";
      throw std::domain_error("no");
    };
    EXPECT_THROW(repository.Update("42", fail), std::domain_error);
    EXPECT_THROW(Get(repository.UpdateAsync("42", fail)), std::domain_error);
    clock->RunPending();
    EXPECT_EQ((*Stored("42"))["step"], "new");
    EXPECT_FALSE(IsLocked("42"));
  }
}

TEST_P(UpdateTest, AUniqueIndexEndsIt) {
  sagas.EnsureIndex({"step"}, true);
  sagas.Insert(Saga{"1", "taken"});
  sagas.Insert(Saga{"2", "free"});
  int calls = 0;
  EXPECT_THROW(sagas.Update("2",
                            [&](Saga& saga) {
                              ++calls;
                              saga.step = "taken";
                            }),
               ConflictException);
  EXPECT_EQ(calls, 1);
}

TEST_P(UpdateTest, IsNeverRunAgainOnceInDoubt) {
  sagas.Insert(Saga{"42"});
  for (const bool async : {false, true}) {
    int calls = 0;
    auto increment = [&](Saga& saga) {
      ++calls;
      ++saga.attempts;
      // The write is lost on its way, and so is every question about what became of it.
      store->Inject({.kind = Fault::Kind::kLate, .op = OpKind::kSave});
      store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kSave, .times = 1000});
      store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRead, .times = 1000});
    };
    EXPECT_THROW(async ? Get(sagas.UpdateAsync("42", increment)) : sagas.Update("42", increment),
                 InDoubtException);
    EXPECT_EQ(calls, 1);
    store->Heal();
    store->ReleaseLate();
  }
}

class UpdateThreadsTest : public ThreadsTest {};
DOCLOCK_FOR_ALL_STORES(UpdateThreadsTest);

TEST_P(UpdateThreadsTest, IncrementsUnderLocksOptimisticAndMixedLoseNone) {
  constexpr int kThreads = 6, kRounds = 40;
  const LockingRepository<Saga> sagas(manager, "sagas",
                                      {.update_retries = 3, .update_wait = 10min});
  const auto under_lock = [&](const std::string& key) {
    auto saga = sagas.Lock(key, {.wait = 10min});
    ++saga->attempts;
    saga.Release();
  };
  const auto optimistic = [&](const std::string& key) {
    sagas.Update(key, [](Saga& saga) { ++saga.attempts; });
  };
  const auto asynchronous = [&](const std::string& key) {
    sagas.UpdateAsync(key, [](Saga& saga) { ++saga.attempts; }).get();
  };
  for (const char* key : {"locks", "optimistic", "mixed"}) sagas.Insert(Saga{key});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        under_lock("locks");
        optimistic("optimistic");
        t % 3 == 0 ? under_lock("mixed") : t % 3 == 1 ? optimistic("mixed") : asynchronous("mixed");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const char* key : {"locks", "optimistic", "mixed"}) {
    EXPECT_EQ((*sagas.Find(key))->attempts, kThreads * kRounds) << key;
  }
}

/// A round is a grant, a save and a release, one version each; `attempts` counts the writes.
TEST_P(UpdateThreadsTest, AReaderNeverSeesHalfARelease) {
  const LockingRepository<Saga> sagas(manager, "sagas");
  const std::int64_t base = sagas.Insert(Saga{"42", "free"});
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) {
      auto saga = sagas.Lock("42", {.wait = 10min});
      saga->step = "held";
      ++saga->attempts;
      saga.Save();
      saga->step = "free";
      ++saga->attempts;
      saga.Release();
    }
    stop = true;
  });
  while (!stop) {
    const auto seen = sagas.Find("42");
    const std::int64_t rounds = (seen->version() - base) / 3,
                       in_round = (seen->version() - base) % 3;
    EXPECT_EQ(seen->locked(), in_round != 0);
    EXPECT_EQ((*seen)->step, in_round == 2 ? "held" : "free");
    EXPECT_EQ((*seen)->attempts, 2 * rounds + (in_round == 2 ? 1 : 0));
  }
  writer.join();
  EXPECT_EQ(sagas.Find("42")->version(), base + 900);
}

}  // namespace
}  // namespace doclock
