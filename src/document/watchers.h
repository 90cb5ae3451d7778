#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "doclock/store/store.h"
#include "platform/fork_generation.h"

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

/// A thread that runs while anything is watched. Thread-safe.
class WhileWatched : public std::enable_shared_from_this<WhileWatched> {
 public:
  WhileWatched(const WhileWatched&) = delete;
  WhileWatched& operator=(const WhileWatched&) = delete;
  virtual ~WhileWatched() = default;

  /// Runs the thread for as long as the subscription lives that it returns, which owns `watch`.
  /// @throws StoreException
  DOCLOCK_EXPORT std::unique_ptr<Subscription> Keep(std::unique_ptr<Subscription> watch);
  /// Ends the thread for good. Called before what the thread uses goes; subscriptions may outlive
  /// it.
  DOCLOCK_EXPORT void Close() noexcept;

 protected:
  WhileWatched() = default;
  /// Whether anything is watched, and this is not closed.
  DOCLOCK_EXPORT bool IsWanted();

 private:
  class Watcher;

  /// Returns what the thread runs from now on, which returns soon once nothing is wanted.
  virtual std::function<void()> Listen() = 0;
  /// There are so many more watchers (fewer, if negative). With 0 this is closed.
  virtual void Changed(int watchers) noexcept = 0;

  void Start();
  bool GoesOn();  ///< IsWanted; if not, this is the last call of the thread.
  void Remove() noexcept;

  const std::uint32_t generation_ = platform::ForkGeneration();
  std::mutex mutex_;
  std::size_t watchers_ = 0;
  bool closed_ = false;
  bool runs_ = false;  ///< The thread goes on if anything is watched.
  std::thread thread_;
};

}  // namespace doclock
