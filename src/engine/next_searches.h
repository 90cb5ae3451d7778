#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "doclock/detail/engine.h"
#include "doclock/runtime.h"
#include "engine/pending_acquire.h"

namespace doclock::detail {

/// Who waits for any free document that matches a filter (LockNext). Each search subscribes to
/// hints, asks the store, sleeps until a hint or a jittered poll, and asks again; a hint wakes one
/// search. A hint that finds none asleep makes those ask again that are asking. Thread-safe.
class NextSearches : public std::enable_shared_from_this<NextSearches> {
 public:
  explicit NextSearches(Engine& engine) : engine_(engine) {}

  /// Begins a search, and asks the store once, on the caller's thread. Settles the search, or lists
  /// it to be asked again.
  void Start(const PendingPtr& search);
  /// Ends a search.
  void End(PendingAcquire& search, Errc code);
  /// Is there any that was not granted at once? Cheap.
  [[nodiscard]] bool waiting() const noexcept { return waiting_ > 0; }
  /// A lock of this collection may have become free.
  void OnHint(Collection& collection);
  /// Ends every search with kCancelled.
  void Close();

 private:
  struct Sleepers {
    std::list<PendingPtr> searches;
    std::uint64_t unheard = 0;  ///< Hints that found none asleep.
  };

  void Ask(const PendingPtr& search);
  void Settle(PendingAcquire& search, AcquireResult result);
  /// `unheard`: the count before the store was asked. `outage`: why the attempt that has just ended
  /// did not reach the store; null: it did.
  void List(const PendingPtr& search, std::uint64_t unheard, FailurePtr outage);
  bool Unlist(PendingAcquire& search);
  void Unsubscribe(PendingAcquire& search);
  void AskOnWorker(const PendingPtr& search);

  Engine& engine_;
  std::mutex mutex_;
  std::unordered_map<Collection*, Sleepers> sleepers_;
  std::atomic<int> waiting_ = 0;
};

}  // namespace doclock::detail
