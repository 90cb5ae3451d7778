#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "doclock/runtime.h"
#include "doclock/store.h"

namespace doclock::detail {

class Engine;

/// Subscribes to a store's hints while somebody waits: one subscription per collection, kept a
/// moment longer than needed. Thread-safe.
class Hints : public std::enable_shared_from_this<Hints> {
 public:
  using Listener = std::function<void(Collection&, std::optional<std::size_t>)>;

  Hints(Engine& engine, Listener listener);
  ~Hints();

  /// One more waits in this collection. Subscribes, if need be, before it returns.
  void Enter(Collection& collection);
  /// One less.
  void Leave(Collection& collection);
  /// Ends all subscriptions.
  void Close();

 private:
  struct Entry {
    /// Held while subscribing: the second waiter waits for the first. Guards the next two.
    std::mutex mutex;
    std::unique_ptr<Subscription> subscription;
    bool subscribed = false;
    // Guarded by the mutex of Hints: those who leave may hold a lock that a hint is waiting for,
    // and subscribing may wait for that hint.
    int waiters = 0;
    bool linger = false;
  };

  /// Needs the lock.
  std::shared_ptr<Entry> EntryOf(Collection& collection);
  void EndIfIdle(const std::shared_ptr<Entry>& entry);

  Engine& engine_;
  const Listener listener_;
  std::mutex mutex_;
  std::map<Collection*, std::shared_ptr<Entry>> entries_;
};

}  // namespace doclock::detail
