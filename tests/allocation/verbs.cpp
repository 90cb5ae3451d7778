#include "allocation/verbs.h"

#include <utility>

namespace doclock::allocation_test {
namespace {

const LockOptions kWaits{.wait = 20s};

void Nothing(Bench&) {}
void Missing(Bench& b) {
  b.jobs.Erase("a");
  b.jobs.Erase("b");
}
void Hold(Bench& b) {
  b.held = b.jobs.Lock("a");
  (*b.held)->n = 2;
}
void Look(Bench& b) {
  b.found = b.jobs.Find("a");
  (*b.found)->n = 2;
}
void Increment(Job& job) { ++job.n; }

/// Another caller of this process holds it, and releases it while the verb waits.
void ReleasedHere(Bench& b) {
  b.in_the_way = b.jobs.Lock("a");
  b.Later(1s, [&b] {
    auto mine = std::exchange(b.in_the_way, std::nullopt);
    if (mine) mine->Release();
  });
}
/// The same without waiting for the store.
void DroppedHere(Bench& b) {
  b.in_the_way = b.jobs.Lock("a");
  b.Later(1s, [&b] { b.in_the_way.reset(); });
}
void ReleasedElsewhere(Bench& b) {
  b.in_the_way = b.others.Lock("a");
  b.Later(1s, [&b] {
    const TestsOwnCode code;
    if (b.in_the_way) b.in_the_way->Release();
  });
}
/// A share is held, and given back while a writer waits for it.
void SharedHere(Bench& b) {
  b.share = b.locks.Acquire("x", {.mode = LockMode::kShared});
  b.Later(1s, [&b] {
    auto mine = std::exchange(b.share, std::nullopt);
    if (mine) mine->Release();
  });
}
/// The whole lock is held, and two who share wait for it.
void TakenFromReaders(Bench& b) {
  b.share = b.locks.Acquire("x");
  b.waiting.push_back(b.locks.AcquireAsync("x", {.wait = 20s, .mode = LockMode::kShared}));
  b.clock->RunPending();
  b.Later(1s, [&b] {
    auto mine = std::exchange(b.share, std::nullopt);
    if (mine) mine->Release();
  });
}
void AllTaken(Bench& b) {
  b.jobs.Erase("b");
  ReleasedHere(b);
}

void Lock(Bench& b) { b.held = b.jobs.Lock("a", kWaits); }
void LockAsync(Bench& b) { b.held = b.Get(b.jobs.LockAsync("a", kWaits)); }
void Share(Bench& b) { b.lock = b.locks.Acquire("x", {.wait = 20s, .mode = LockMode::kShared}); }
void LockNext(Bench& b) { b.held = b.jobs.LockNext(Filter(), kWaits); }
void LockNextAsync(Bench& b) { b.held = b.Get(b.jobs.LockNextAsync(Filter(), kWaits)); }
void Hold(Bench&, std::vector<Locked<Job>>) {}

void LockWithHandler(Bench& b) {
  const auto calls = std::make_shared<int>(0);
  b.jobs.LockAsync("a", kWaits, [calls](std::exception_ptr, const Locked<Job>&) { ++*calls; });
  const TestsOwnCode code;
  b.clock->Advance(30s);
  if (*calls != 1) throw std::logic_error("calls of the handler: " + std::to_string(*calls));
}

}  // namespace

std::vector<Verb> VerbsThatLock() {
  return {
      {"Lock", Nothing, Lock},
      {"LockThatMakes", Missing,
       [](Bench& b) {
         b.held = b.jobs.Lock(Job{"a", 1});
       }},
      {"LockAsync", Nothing, LockAsync},
      {"LockWithHandler", Nothing, LockWithHandler},
      {"TryLock", Nothing, [](Bench& b) { b.held = b.jobs.TryLock("a"); }},
      {"TryLockAsync", Nothing, [](Bench& b) { b.held = b.Get(b.jobs.TryLockAsync("a")); }},
      {"LockAll", Nothing,
       [](Bench& b) {
         Hold(b, b.jobs.LockAll({"a", "b"}, kWaits));
       }},
      {"LockAllAsync", Nothing,
       [](Bench& b) {
         Hold(b, b.Get(b.jobs.LockAllAsync({"a", "b"}, kWaits)));
       }},
      {"LockNext", Nothing, LockNext},
      {"LockNextAsync", Nothing, LockNextAsync},
      {"WaitForRelease", ReleasedHere, Lock},
      {"WaitForDrop", DroppedHere, Lock},
      {"WaitForOtherProcess", ReleasedElsewhere, Lock},
      {"WaitForReader", SharedHere, [](Bench& b) { b.lock = b.locks.Acquire("x", {.wait = 20s}); }},
      {"WaitForWriter", TakenFromReaders,
       [](Bench& b) {
         Share(b);
         b.waiting.clear();
       }},
      {"WaitForReleaseAsync", ReleasedHere, LockAsync},
      {"WaitForDropAsync", DroppedHere, LockAsync},
      {"WaitForOtherProcessAsync", ReleasedElsewhere, LockAsync},
      {"WaitWithHandler", ReleasedHere, LockWithHandler},
      {"WaitForAll", ReleasedHere,
       [](Bench& b) {
         Hold(b, b.jobs.LockAll({"a", "b"}, kWaits));
       }},
      {"WaitForNext", AllTaken, LockNext},
      {"WaitForNextAsync", AllTaken, LockNextAsync},
      {"With", Nothing, [](Bench& b) { b.jobs.With("a", Increment); }},
  };
}

namespace {

/// A release, an optimistic write and an insert, together.
Transaction WriteTogether(Bench& b) {
  Transaction transaction(b.manager);
  transaction.Release(*b.held).Save(b.jobs, *b.found).Insert(b.jobs, Job{"c", 1});
  return transaction;
}

void HoldAndLook(Bench& b) {
  Hold(b);
  b.found = b.jobs.Find("b");
}

}  // namespace

std::vector<Verb> VerbsOfHolders() {
  return {
      {"Transaction", HoldAndLook, [](Bench& b) { WriteTogether(b).Commit(); }},
      {"TransactionAsync", HoldAndLook, [](Bench& b) { b.Get(WriteTogether(b).CommitAsync()); }},
      {"Save", Hold, [](Bench& b) { b.held->Save(); }},
      {"SaveAsync", Hold, [](Bench& b) { b.Get(b.held->SaveAsync()); }},
      {"Release", Hold, [](Bench& b) { b.held->Release(); }},
      {"ReleaseAsync", Hold, [](Bench& b) { b.Get(b.held->ReleaseAsync()); }},
      {"Discard", Hold, [](Bench& b) { b.held->Discard(); }},
      {"Erase", Hold, [](Bench& b) { b.held->Erase(); }},
      {"EraseAsync", Hold, [](Bench& b) { b.Get(b.held->EraseAsync()); }},
      {"Drop", Hold, [](Bench& b) { b.held.reset(); }},
      {"Detach", Hold, [](Bench& b) { b.held->Detach(); }, Leaves::kLease},
      {"DetachAsync", Hold, [](Bench& b) { b.Get(b.held->DetachAsync()); }, Leaves::kLease},
      {"ReleaseOfEntity", Hold, [](Bench& b) { b.jobs.ReleaseLock(**b.held); }},
      {"ReleaseOfEntityAsync", Hold, [](Bench& b) { b.Get(b.jobs.ReleaseLockAsync(**b.held)); }},
      {"Lost", Hold, [](Bench& b) { (void)b.held->lost(); }},
      {"Close", Hold, [](Bench& b) { b.manager.Close(); }, Leaves::kLease},
  };
}

std::vector<Verb> VerbsWithoutLock() {
  return {
      {"Find", Nothing, [](Bench& b) { b.found = b.jobs.Find("a"); }},
      {"FindAsync", Nothing, [](Bench& b) { b.found = b.Get(b.jobs.FindAsync("a")); }},
      {"FindMany", Nothing, [](Bench& b) { (void)b.jobs.Find(Filter()); }},
      {"FindManyAsync", Nothing, [](Bench& b) { (void)b.Get(b.jobs.FindAsync(Filter())); }},
      {"ForEach", Nothing, [](Bench& b) { b.jobs.ForEach(Filter(), [](const Snapshot<Job>&) {}); }},
      {"Insert", Missing,
       [](Bench& b) {
         b.jobs.Insert(Job{"a", 2});
       }},
      {"InsertAsync", Missing,
       [](Bench& b) {
         b.Get(b.jobs.InsertAsync(Job{"a", 2}));
       }},
      {"SaveSnapshot", Look, [](Bench& b) { b.jobs.Save(*b.found); }},
      {"SaveSnapshotAsync", Look, [](Bench& b) { b.Get(b.jobs.SaveAsync(*b.found)); }},
      {"EraseDocument", Nothing, [](Bench& b) { b.jobs.Erase("a"); }},
      {"Update", Nothing, [](Bench& b) { b.jobs.Update("a", Increment); }},
      {"UpdateAsync", Nothing, [](Bench& b) { b.Get(b.jobs.UpdateAsync("a", Increment)); }},
      {"UpdateThatWaits", ReleasedHere, [](Bench& b) { b.jobs.Update("a", Increment); }},
      {"UpdateThatWaitsAsync", ReleasedHere,
       [](Bench& b) { b.Get(b.jobs.UpdateAsync("a", Increment)); }},
      {"Purge", Nothing, [](Bench& b) { b.jobs.Admin().Purge(); }},
      {"Status", Hold, [](Bench& b) { (void)b.jobs.Admin().Status(); }},
  };
}

namespace {

void Acquired(Bench& b) { b.lock = b.locks.Acquire("x"); }
void MadeMutex(Bench& b) { b.mutex.reset(new NamedMutex(b.locks.Mutex("x"))); }
void LockedMutex(Bench& b) {
  MadeMutex(b);
  b.mutex->lock();
}
void AcquireBoth(Bench& b) { (void)b.locks.AcquireAll({"x", "y"}); }

}  // namespace

std::vector<Verb> VerbsOfNamedLocks() {
  return {
      {"Acquire", Nothing, Acquired},
      {"AcquireAsync", Nothing, [](Bench& b) { b.lock = b.Get(b.locks.AcquireAsync("x")); }},
      {"AcquireAll", Nothing, AcquireBoth},
      {"AcquireAllAsync", Nothing,
       [](Bench& b) {
         (void)b.Get(b.locks.AcquireAllAsync({"x", "y"}));
       }},
      {"AcquireShared", Nothing, Share},
      {"Renew", Acquired, [](Bench& b) { b.lock->Renew(); }},
      {"RenewAsync", Acquired, [](Bench& b) { b.Get(b.lock->RenewAsync()); }},
      {"ReleaseNamed", Acquired, [](Bench& b) { b.lock->Release(); }},
      {"ReleaseNamedAsync", Acquired, [](Bench& b) { b.Get(b.lock->ReleaseAsync()); }},
      {"DetachNamed", Acquired, [](Bench& b) { b.lock->Detach(); }, Leaves::kLease},
      {"MutexLock", MadeMutex, [](Bench& b) { b.mutex->lock(); }},
      {"MutexUnlock", LockedMutex, [](Bench& b) { b.mutex->unlock(); }},
      {"MutexDropped", LockedMutex, [](Bench& b) { b.mutex.reset(); }},
      {"SharedMutex", Nothing,
       [](Bench& b) {
         SharedNamedMutex mutex = b.locks.SharedMutex("x");
         mutex.lock_shared();
         mutex.unlock_shared();
         mutex.lock();
         mutex.unlock();
       }},
      {"RenewGroup", [](Bench& b) { b.lock = b.locks.Acquire("x", {.group = "g"}); },
       [](Bench& b) { (void)b.locks.Admin().RenewGroup("g"); }},
      {"ReleaseGroup", [](Bench& b) { b.lock = b.locks.Acquire("x", {.group = "g"}); },
       [](Bench& b) { (void)b.locks.Admin().ReleaseGroup("g"); }},
  };
}

}  // namespace doclock::allocation_test
