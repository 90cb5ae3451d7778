#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "doclock/detail/engine.h"
#include "doclock/runtime.h"
#include "engine/waiting/pending_acquire.h"

namespace doclock::detail {

class WaitTable;

/// The searches for any free document that matches a filter (LockNext). Each search subscribes to
/// hints, asks the store, sleeps until a hint, a jittered poll, or until a document falls due or a
/// lock ends, and asks again. A hint wakes one search. If that gets nothing, the hint goes on to
/// the next search that slept when it came and wants something else. A hint that finds no search
/// asleep makes those ask again that are asking. Thread-safe.
class NextSearches : public std::enable_shared_from_this<NextSearches> {
 public:
  explicit NextSearches(WaitTable& table) : table_(table) {}

  /// Begins a search, and asks the store once, on the caller's thread. Settles the search, or lists
  /// it to be asked again.
  void Start(const PendingPtr& search) noexcept;
  /// Ends a search.
  void End(PendingAcquire& search, Errc code) noexcept;
  /// Is there any search that was not granted at once? Cheap.
  [[nodiscard]] bool waiting() const noexcept { return waiting_ > 0; }
  /// A lock of this collection may have become free.
  void OnHint(Collection& collection) noexcept;

 private:
  struct Sleepers {
    std::list<PendingPtr> searches;
    std::uint64_t hints = 0;    ///< How many hints have come.
    std::uint64_t unheard = 0;  ///< The last hint that found no search asleep.
  };

  /// Calls `act`; if that throws (out of memory), settles the search.
  template <class F>
  void OrSettle(PendingAcquire& search, const F& act) noexcept;
  void Ask(const PendingPtr& search);
  void Settle(PendingAcquire& search, AcquireResult result) noexcept;
  /// `outage`: why the attempt that has just ended did not reach the store; null: it did.
  /// `free_in`: see AcquireOp.
  void List(const PendingPtr& search, FailurePtr outage,
            std::optional<std::chrono::milliseconds> free_in = {});
  bool Unlist(PendingAcquire& search) noexcept;
  /// Wakes the first search that did not ask the store since this hint came.
  void Wake(Collection& collection, std::uint64_t hint) noexcept;
  /// Forwards the hint of a search that it woke in vain. `missing`: the store has nothing for this
  /// search, nor for those that want the same.
  void ForwardHint(const PendingAcquire& search, std::uint64_t hint, bool missing) noexcept;
  /// Needs the lock.
  void TakeOut(Sleepers& sleepers, PendingAcquire& search) noexcept;
  void Subscribe(PendingAcquire& search);
  void Unsubscribe(PendingAcquire& search) noexcept;
  void AskOnWorker(const PendingPtr& search) noexcept;

  WaitTable& table_;
  std::mutex mutex_;
  std::unordered_map<Collection*, Sleepers> sleepers_;
  std::atomic<int> waiting_ = 0;
};

}  // namespace doclock::detail
