#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "document/watchers.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// Delivers notifications of other processes to a store's subscribers, on one thread that runs
/// while there are subscribers. Thread-safe.
class NotificationListener final : public WhileWatched {
 public:
  explicit NotificationListener(std::shared_ptr<ProcessCoordinator> coordinator) noexcept
      : coordinator_(std::move(coordinator)) {}
  ~NotificationListener() override { Close(); }

  /// @param collection TagOf its name
  std::unique_ptr<Subscription> Add(std::uint64_t collection, HintListener listener);

 private:
  std::function<void()> Listen() override;
  void Changed(int watchers) noexcept override;
  void Run(std::uint32_t position);
  void Tell(const Notification& notification);

  std::shared_ptr<ProcessCoordinator> coordinator_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Watchers>> collections_;  ///< By their tags.
};

}  // namespace doclock::sqlite
