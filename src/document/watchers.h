#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <shared_mutex>

#include "doclock/store.h"

namespace doclock {

/// The subscribers of hints that locks of one collection became free. Lives as long as the last
/// subscription, which may outlive the store.
class Watchers : public std::enable_shared_from_this<Watchers> {
 public:
  using Hint = std::function<void(std::optional<std::size_t>)>;

  DOCLOCK_EXPORT std::unique_ptr<Subscription> Add(Hint hint);
  [[nodiscard]] bool HasAny() const noexcept { return count_.load() != 0; }
  /// Tells all subscribers; without a hash, that any lock may have become free. Call it without a
  /// mutex of the store.
  void Tell(std::optional<std::size_t> hash) {
    if (count_.load(std::memory_order_relaxed) != 0) TellAll(hash);
  }

 private:
  class Watch;

  DOCLOCK_EXPORT void TellAll(std::optional<std::size_t> hash);
  void Remove(std::list<Hint>::iterator hint);

  std::shared_mutex
      mutex_;  // held while hints run: a subscription ends only when none is under way
  std::list<Hint> hints_;
  std::atomic<std::size_t> count_{0};  // so that collections without watchers pay nothing
};

}  // namespace doclock
