#include "sqlite/processes/notification_listener.h"

#include <string>
#include <system_error>
#include <vector>

#include "doclock/errors.h"
#include "platform/signals_blocked.h"

namespace doclock::sqlite {
namespace {

/// How soon the locks of a killed process are found to be free.
constexpr std::chrono::milliseconds kSweepInterval{50};

}  // namespace

class NotificationListener::Membership final : public Subscription {
 public:
  Membership(std::shared_ptr<NotificationListener> listener,
             Subscribers::iterator subscriber) noexcept
      : listener_(std::move(listener)), subscriber_(subscriber) {}
  ~Membership() override { listener_->Remove(subscriber_); }

 private:
  std::shared_ptr<NotificationListener> listener_;
  Subscribers::iterator subscriber_;
};

NotificationListener::~NotificationListener() { StopThread(); }

std::unique_ptr<Subscription> NotificationListener::Add(const SqliteCollection& collection,
                                                        HintListener listener) {
  const std::lock_guard lifecycle(lifecycle_mutex_);
  Subscribers fresh;
  fresh.push_back({collection.tag(), std::move(listener)});
  const auto subscriber = fresh.begin();
  // The thread first: it may fail, and then there is no subscriber to remove.
  if (!thread_.joinable()) Start();
  auto membership = std::make_unique<Membership>(shared_from_this(), subscriber);
  {
    const std::lock_guard guard(mutex_);
    subscribers_.splice(subscribers_.end(), fresh);
  }
  coordinator_->AddWatchers(1);
  return membership;
}

void NotificationListener::Remove(Subscribers::iterator subscriber) noexcept {
  if (platform::ForkGeneration() != generation_) return;  // the thread is the parent's
  const std::lock_guard lifecycle(lifecycle_mutex_);
  coordinator_->AddWatchers(-1);
  bool last = false;
  {
    const std::lock_guard guard(mutex_);
    subscribers_.erase(subscriber);
    last = subscribers_.empty();
  }
  if (last) StopThread();
}

void NotificationListener::Start() {
  const platform::SignalsBlocked blocked;
  stop_ = false;
  try {
    thread_ = std::thread([this, position = coordinator_->Position()] { Listen(position); });
  } catch (const std::system_error& error) {
    throw StoreException(Errc::kUnavailable,
                         std::string("doclock: no thread to listen with: ") + error.what());
  }
}

void NotificationListener::StopThread() noexcept {
  if (!thread_.joinable()) return;
  stop_ = true;
  coordinator_->WakeAll();
  thread_.join();
}

void NotificationListener::Listen(std::uint32_t position) {
  auto next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  std::vector<Notification> notifications;
  while (!stop_) {
    coordinator_->Await(position, kSweepInterval);
    notifications.clear();
    if (coordinator_->Read(position, notifications)) {
      Tell(notifications);
    } else {
      TellAll();
    }
    if (std::chrono::steady_clock::now() < next_sweep) continue;
    coordinator_->ReapDeadStores();
    next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  }
}

void NotificationListener::Tell(const std::vector<Notification>& notifications) {
  const std::lock_guard guard(mutex_);
  for (const Notification& notification : notifications) {
    for (const Subscriber& subscriber : subscribers_) Tell(subscriber, notification);
  }
}

void NotificationListener::Tell(const Subscriber& subscriber,
                                const Notification& notification) const {
  if (notification.collection == kAnyCollection) return subscriber.listener({});
  LockHint hint{static_cast<std::size_t>(notification.key)};
  if (notification.collection == AddressedTo(coordinator_->slot(), subscriber.collection)) {
    hint.grant.emplace();  // to one of ours, who reads the rest
  } else if (notification.collection != subscriber.collection) {
    return;
  }
  subscriber.listener(hint);
}

void NotificationListener::TellAll() {
  const std::lock_guard guard(mutex_);
  for (const Subscriber& subscriber : subscribers_) subscriber.listener({});
}

}  // namespace doclock::sqlite
