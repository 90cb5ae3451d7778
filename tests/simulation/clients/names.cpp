/// Named locks, one by one and in groups.

#include "simulation/clients/client.h"

namespace doclock::simulation {
namespace {

constexpr std::array kGroups = {"", "red", "blue"};

/// As long as it lives, a client may end locks of others.
class Ending {
 public:
  Ending(Invariants& invariants, std::string lock)
      : invariants_(invariants), lock_(std::move(lock)) {
    invariants_.BeginEnding(lock_);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { invariants_.EndEnding(lock_); }

 private:
  Invariants& invariants_;
  const std::string lock_;
};

std::string LockOf(const char* name) { return std::string("names/") + name; }

}  // namespace

void Client::HoldName(const char* name, bool shared) {
  LockOptions options = Options();
  options.group = luck_.Pick(kGroups);
  if (shared) {
    options.mode = LockMode::kShared;
    options.max_holders = kShares;
  }
  const Wish wish = WishFor(LockOf(name), options);
  UseName(AwaitLock<HeldLock>(
              wish, [&](auto token) { program_->names->AcquireAsync(name, wish.options, token); }),
          wish);
}

void Client::HoldForgettable() {
  const Wish wish = WishFor("old/e", Options());
  UseName(
      AwaitLock<HeldLock>(
          wish, [&](auto token) { program_->old_names->AcquireAsync("e", wish.options, token); }),
      wish);
}

void Client::HoldInCrowd() {
  LockOptions options;
  options.ttl = kLongestLease;
  options.wait = 8s;
  const Wish wish = WishFor(LockOf(kNames[0]), options);
  HeldLock handle = AwaitLock<HeldLock>(
      wish, [&](auto token) { program_->names->AcquireAsync(kNames[0], wish.options, token); });
  Holding<HeldLock> holding(*this, handle, wish);
  Sleep(50ms);
  holding.End();
  Await<Nothing>("release " + wish.lock, [&](auto token) { handle.ReleaseAsync(token); });
}

void Client::HoldNames() {
  LockOptions options = Options();
  options.group = luck_.Pick(kGroups);
  const Wish first = WishFor(LockOf(kNames[0]), options);
  const Wish second = WishFor(LockOf(kNames[1]), options);
  auto handles = AwaitAny<std::vector<HeldLock>>("lock all names", [&](auto token) {
    program_->names->AcquireAllAsync({kNames[1], kNames[0]}, options, token);
  });
  Holding<HeldLock> holding(*this, handles[0], first);
  UseName(std::move(handles[1]), second);
  holding.End();
  UseName(std::move(handles[0]), first);
}

void Client::UseName(HeldLock handle, const Wish& wish) {
  const std::string& lock = wish.lock;
  Tell("holds " + lock + " with fence " + std::to_string(handle.fence()));
  Holding<HeldLock> holding(*this, handle, wish);
  Sleep(3000ms);
  if (luck_.Chance(200)) {
    Await<Nothing>("renew " + lock, [&](auto token) { handle.RenewAsync({}, token); });
    Sleep(1000ms);
  }
  holding.End();
  switch (luck_.Below(4)) {
    case 0:
      return;
    case 1:
      if (luck_.Chance(500)) break;
      return static_cast<void>(
          Await<Nothing>("detach " + lock, [&](auto token) { handle.DetachAsync(token); }));
    default:
      break;
  }
  Await<Nothing>("release " + lock, [&](auto token) { handle.ReleaseAsync(token); });
}

void Client::RenewGroup() {
  const std::string group = luck_.Chance(500) ? kGroups[1] : kGroups[2];
  Tell("asks to renew the group " + group);
  const auto renewed = program_->names->Admin().RenewGroup(group, luck_.Chance(500) ? 2000ms : 0ms);
  Tell("has renewed " + std::to_string(renewed.size()) + " locks");
}

void Client::ReleaseGroup() {
  const std::string group = luck_.Chance(500) ? kGroups[1] : kGroups[2];
  const auto before = invariants_.HeldOf(group);
  const Time asked = program_->process().world().now();
  const Ending first(invariants_, LockOf(kNames[0]));
  const Ending second(invariants_, LockOf(kNames[1]));
  Tell("asks to release the group " + group);
  const auto released = program_->names->Admin().ReleaseGroup(group);
  Tell("has released " + std::to_string(released.size()) + " locks");
  // A deposed primary may have listed the group.
  if (program_->killed() || !program_->database().WasOneSince(asked)) return;
  for (const auto& [lock, fence] : invariants_.HeldOf(group)) {
    const auto was = before.find(lock);
    if (was == before.end() || was->second != fence) continue;
    invariants_.CheckEnded("a group is released as a whole", lock, fence);
  }
}

void Client::Break() {
  const bool named = luck_.Chance(600);
  const std::string key = named ? kNames[luck_.Below(kNames.size())] : luck_.Pick(kEveryDocument);
  const std::string lock = (named ? "names/" : "entries/") + key;
  const Ending ending(invariants_, lock);
  Tell("asks to break " + lock);
  const LockStatus broken = named ? program_->names->Admin().Break(key, "breaker")
                                  : program_->entries->Admin().Break(key, "breaker");
  Tell("has broken " + lock);
  if (program_->killed() || broken.mode == LockMode::kShared || !broken.fence) return;
  if (Invariants::MayBeErased(lock)) return;
  invariants_.CheckEnded("a broken lock is free", lock, *broken.fence);
}

void Client::Purge() {
  Tell("asks to purge");
  switch (luck_.Below(3)) {
    case 0:
      static_cast<void>(program_->entries->Admin().Purge());
      break;
    case 1:
      static_cast<void>(program_->names->Admin().Purge());
      break;
    default:
      static_cast<void>(program_->old_names->Admin().Purge({.forget = true, .idle_for = 2s}));
  }
  Tell("has purged");
}

}  // namespace doclock::simulation
