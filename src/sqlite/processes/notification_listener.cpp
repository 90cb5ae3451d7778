#include "sqlite/processes/notification_listener.h"

#include <chrono>
#include <utility>
#include <vector>

namespace doclock::sqlite {
namespace {

/// How soon the locks of a killed process are found to be free.
constexpr std::chrono::milliseconds kSweepInterval{50};

}  // namespace

std::unique_ptr<Subscription> NotificationListener::Add(std::uint64_t collection,
                                                        HintListener listener) {
  std::shared_ptr<Watchers> watchers;
  {
    const std::lock_guard guard(mutex_);
    auto& entry = collections_[collection];
    if (!entry) entry = std::make_shared<Watchers>();
    watchers = entry;
  }
  // Without the mutex: a hint of this collection that is under way may want it, to watch another.
  return Keep(watchers->Add(std::move(listener)));
}

std::function<void()> NotificationListener::Listen() {
  return [this, position = coordinator_->Position()] { Run(position); };
}

void NotificationListener::Changed(int watchers) noexcept {
  watchers == 0 ? coordinator_->WakeAll() : coordinator_->AddWatchers(watchers);
}

void NotificationListener::Run(std::uint32_t position) {
  auto next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  std::vector<Notification> notifications;
  while (IsWanted()) {
    coordinator_->Await(position, kSweepInterval);
    notifications.clear();
    if (coordinator_->Read(position, notifications)) {
      for (const Notification& notification : notifications) Tell(notification);
    } else {
      Tell({kAnyCollection});  // some are lost, or there is no memory for them
    }
    if (std::chrono::steady_clock::now() < next_sweep) continue;
    coordinator_->ReapDeadStores();
    next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  }
}

void NotificationListener::Tell(const Notification& notification) {
  std::unique_lock guard(mutex_);
  // No entry ever goes, so an iterator stays valid while hints run, which may add some.
  for (const auto& [tag, watchers] : collections_) {
    if (!watchers) continue;  // there was no memory for them
    LockHint hint{static_cast<std::size_t>(notification.key)};
    if (notification.collection == AddressedTo(coordinator_->slot(), tag)) {
      hint.grant.emplace();  // to one of ours, who reads the rest
    } else if (notification.collection == kAnyCollection) {
      hint = {};
    } else if (notification.collection != tag) {
      continue;
    }
    guard.unlock();
    watchers->Tell(hint);
    guard.lock();
  }
}

}  // namespace doclock::sqlite
