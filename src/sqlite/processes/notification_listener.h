#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "doclock/store.h"
#include "platform/fork_generation.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/schema/sqlite_collection.h"

namespace doclock::sqlite {

/// Delivers notifications of other processes to a store's subscribers, on one thread that runs
/// while there are subscribers. Thread-safe.
class NotificationListener : public std::enable_shared_from_this<NotificationListener> {
 public:
  explicit NotificationListener(std::shared_ptr<ProcessCoordinator> coordinator) noexcept
      : coordinator_(std::move(coordinator)) {}
  ~NotificationListener();

  std::unique_ptr<Subscription> Add(const SqliteCollection& collection, HintListener listener);

 private:
  struct Subscriber {
    std::uint64_t collection;
    HintListener listener;
  };
  using Subscribers = std::list<Subscriber>;
  class Membership;

  void Remove(Subscribers::iterator subscriber) noexcept;
  void Start();
  void StopThread() noexcept;
  void Listen(std::uint32_t position);
  void Tell(const std::vector<Notification>& notifications);
  void Tell(const Subscriber& subscriber, const Notification& notification) const;
  void TellAll();

  std::shared_ptr<ProcessCoordinator> coordinator_;
  const std::uint32_t generation_ = platform::ForkGeneration();
  std::mutex lifecycle_mutex_;  ///< Held while the thread is started or joined.
  std::mutex mutex_;            ///< Held while hints run.
  Subscribers subscribers_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
};

}  // namespace doclock::sqlite
