#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <shared_mutex>

#include "doclock/store.h"

namespace doclock {

/// The subscribers of the hints of one collection. Lives as long as the last
/// subscription, which may outlive the store.
class Watchers : public std::enable_shared_from_this<Watchers> {
 public:
  DOCLOCK_EXPORT std::unique_ptr<Subscription> Add(HintListener listener);
  [[nodiscard]] bool HasAny() const noexcept { return count_.load() != 0; }
  /// Tells all subscribers. Call it without a mutex of the store.
  void Tell(const LockHint& hint) {
    if (count_.load(std::memory_order_relaxed) != 0) TellAll(hint);
  }

 private:
  class Watch;

  DOCLOCK_EXPORT void TellAll(const LockHint& hint);
  void Remove(std::list<HintListener>::iterator listener);

  std::shared_mutex
      mutex_;  // held while hints run: a subscription ends only when none is under way
  std::list<HintListener> listeners_;
  std::atomic<std::size_t> count_{0};  // so that collections without watchers pay nothing
};

}  // namespace doclock
