#include "simulation/clients/workload.h"

#include "simulation/clients/client.h"

namespace doclock::simulation {
namespace {

constexpr std::array<milliseconds, 4> kLeases = {300ms, 1000ms, 3000ms, kLongestLease};
constexpr std::array<milliseconds, 5> kWaits = {0ms, 0ms, 300ms, 2000ms, 8000ms};

}  // namespace

LockOptions Client::Options() {
  LockOptions options;
  options.ttl = luck_.Pick(kLeases);
  options.wait = luck_.Pick(kWaits);
  options.renew = !luck_.Chance(200);
  if (luck_.Chance(50)) options.min_hold = milliseconds(500);
  return options;
}

Client::Wish Client::WishFor(std::string lock, const LockOptions& options) {
  const auto fence_floor = invariants_.FenceFloor(lock);
  const auto read_floor = invariants_.ReadFloor(lock);
  return {std::move(lock), options, program_->process().world().now(), fence_floor, read_floor};
}

void Client::Do(Verb verb) {
  switch (verb) {
    case Verb::kLock:
      return HoldDocument(false);
    case Verb::kLockEntity:
      return HoldDocument(true);
    case Verb::kLockNext:
      return HoldNext();
    case Verb::kLockAll:
      return HoldAll();
    case Verb::kTransfer:
      return Transfer();
    case Verb::kMove:
      return Move();
    case Verb::kReadTogether:
      return static_cast<void>(ReadTwo());
    case Verb::kLetter:
      return ReleaseByLetter();
    case Verb::kFind:
      return Find();
    case Verb::kSearch:
      return Search();
    case Verb::kSave:
      return Save();
    case Verb::kUpdate:
      return Update();
    case Verb::kInsert:
      return Insert();
    case Verb::kErase:
      return Erase();
    case Verb::kName:
      return HoldName("mutex", false);
    case Verb::kShare:
      return HoldName("semaphore", luck_.Chance(750));
    case Verb::kNames:
      return HoldNames();
    case Verb::kForgettable:
      return HoldForgettable();
    case Verb::kCrowd:
      return HoldInCrowd();
    case Verb::kRenewGroup:
      return RenewGroup();
    case Verb::kReleaseGroup:
      return ReleaseGroup();
    case Verb::kBreak:
      return Break();
    case Verb::kPurge:
      return Purge();
  }
}

void Play(const std::shared_ptr<Program>& program, Story& story, const Operation& operation) {
  try {
    Client(program, story, operation.luck).Do(operation.verb);
  } catch (const Error& error) {  // its text names this machine
    if (story.told()) story.Tell(program->Name() + ": " + error.code().message());
  } catch (const std::exception& error) {
    if (story.told()) story.Tell(program->Name() + ": " + error.what());
  }
}

void LockEverything(const std::shared_ptr<Program>& program, Story& story) {
  LockOptions options;
  options.wait = kLongestLease + 5s;
  std::string what;
  const auto lock = [&](const std::string& name, const auto& acquire) {
    what = name;
    if (story.told()) story.Tell(program->Name() + ": locks " + what + " after the faults");
    acquire();
  };
  program->invariants().queues().BeginAny(program->number());
  try {
    for (const char* key : kDocuments) {
      lock(key, [&] {
        Entry entry{key};
        entry.Continue(program->invariants().NewWrite(std::string("entries/") + key, 0));
        auto handle = program->Await<Locked<Entry>>("lock at the end", [&](auto token) {
          program->entries->LockAsync(std::as_const(entry), options, token);
        });
        program->Await<Nothing>("release at the end",
                                [&](auto token) { handle.ReleaseAsync(token); });
      });
    }
    for (const char* name : kNames) {
      lock(name, [&] {
        auto handle = program->Await<HeldLock>("lock at the end", [&](auto token) {
          program->names->AcquireAsync(name, options, token);
        });
        program->Await<Nothing>("release at the end",
                                [&](auto token) { handle.ReleaseAsync(token); });
      });
    }
  } catch (const std::exception& error) {
    program->invariants().Break("after the faults everything can be locked",
                                what + " could not: " + error.what());
  }
}

}  // namespace doclock::simulation
