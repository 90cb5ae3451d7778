#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "doclock/lock_manager.h"
#include "doclock/store/store.h"
#include "engine/runtime/limited_work.h"

namespace doclock::detail {

class WaitTable;

/// Subscribes to a store's hints while there are waiters: one subscription per collection, kept a
/// moment longer than needed. Thread-safe.
class Hints {
 public:
  explicit Hints(WaitTable& table);

  /// Adds a waiter in this collection. If needed, a worker subscribes, which may take as long as a
  /// call of the store. When it has, the table gets a hint for the whole collection, so that a
  /// lock which was freed before is not missed.
  void Enter(Collection& collection);
  /// Removes a waiter.
  void Leave(Collection& collection) noexcept;
  /// Whether the store gives hints for this collection; it does not while there are no waiters.
  [[nodiscard]] bool Heard(Collection& collection);
  /// Ends all subscriptions.
  void Close();

 private:
  struct Entry {
    /// Held while the store subscribes. Never taken by Enter, nor by Leave, which callers do with a
    /// mutex that hints wait for.
    std::mutex subscribing;
    std::unique_ptr<Subscription> subscription;
    bool ended = false;               ///< Set by Close: it never subscribes again.
    std::atomic<bool> heard = false;  ///< The store has hints.

    std::mutex mutex;  ///< Guards what follows.
    int waiters = 0;
    bool requested = false;  ///< Is subscribed, or will be.
    TimePoint not_before;    ///< The store refused: it is not asked again before.
    bool linger = false;
  };

  /// The entry of a collection with waiters; null after Close.
  std::shared_ptr<Entry> EntryOf(Collection& collection) noexcept;
  std::shared_ptr<Entry> EntryFor(Collection& collection);
  void Subscribe(Collection& collection, Entry& entry);
  void EndOnWorker(const std::shared_ptr<Entry>& entry) noexcept;
  void EndIfIdle(const std::shared_ptr<Entry>& entry);

  WaitTable& table_;
  const std::shared_ptr<LimitedWork> subscribing_;  ///< Begins and ends one at a time, in order.
  std::mutex mutex_;
  std::map<Collection*, std::shared_ptr<Entry>> entries_;
};

}  // namespace doclock::detail
