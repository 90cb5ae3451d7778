#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "doclock/detail/engine.h"
#include "doclock/runtime.h"
#include "engine/pending_acquire.h"

namespace doclock::detail {

/// Who waits for any free document that matches a filter (LockNext). Each search asks the store,
/// sleeps until a hint or a jittered poll, and asks again; a hint wakes one search. Thread-safe.
class NextSearches : public std::enable_shared_from_this<NextSearches> {
 public:
  explicit NextSearches(Engine& engine) : engine_(engine) {}

  /// Asks the store once, on the caller's thread. Settles the search, or lists it to be asked
  /// again.
  void Ask(const PendingPtr& search);
  /// Ends a search.
  void End(PendingAcquire& search, Errc code);
  /// A lock of this collection may have become free.
  void OnHint(Collection& collection);
  /// Ends every search with kCancelled.
  void Close();

 private:
  /// `outage`: why the attempt that has just ended did not reach the store; null: it did.
  void List(const PendingPtr& search, FailurePtr outage);
  bool Unlist(PendingAcquire& search);
  void AskOnWorker(const PendingPtr& search);

  Engine& engine_;
  std::mutex mutex_;
  std::list<PendingPtr> sleeping_;
};

}  // namespace doclock::detail
