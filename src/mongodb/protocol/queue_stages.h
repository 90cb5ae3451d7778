#pragma once

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// The queue of a document's exclusive waiters, for commands. lockQueue is an array of
//   { id: UUID, until: date, ttl: ms, hold: ms, owner: {...}, group: text, wake: binary },
// absent when there are none. A client that frees the lock grants it to the first live entry, and
// copies that entry's `wake` to lockPassed: the id of the waiter's store instance before the lock
// id, so that each instance can ask the server for the grants to itself. The queue decides nothing
// about exclusion. So what a foreign program wrote there counts as an entry that is over, and the
// next write drops it.

/// No queue is stored: for statements that neither read nor change one.
void AddNoQueue(Doc& filter, const Collection& collection);
/// An expression: no entry is live.
Doc NobodyWaitsExpr(const Collection& collection);
/// The stage that removes the entry of this id, and those that are over.
void AddEntryRemoval(Array& stages, const Collection& collection, const Uuid& id);
/// The stages that clear the lock, or grant it to the first live entry unless min_hold lasts. They
/// do not raise the version.
void AddPassOn(Array& stages, const Collection& collection);

/// The stages of a kLeave: they remove the entry of this id, and release its lock if it has one.
void AddLeave(Array& stages, const Collection& collection, const Uuid& id, const Uuid& mark);

/// The turn of an exclusive attempt where a queue is known or asked for. Its stages grant a free
/// lock to the first of the queue, which may be the attempt itself, and leave the attempt's entry.
class Turn {
 public:
  /// @param instance of the store
  Turn(const AcquireOp& op, const Uuid& instance) : op_(op), instance_(instance) {}

  /// The document, if its lock fields are what this library writes.
  [[nodiscard]] Doc Filter() const;
  void AddStages(Array& stages) const;
  /// A projection of the document as it was: { granted: bool, now: date, doc: {...} }. `doc` has
  /// the body if the lock is the attempt's: was granted, or had been.
  [[nodiscard]] Doc Projection() const;

 private:
  [[nodiscard]] Doc Entry() const;
  [[nodiscard]] Doc QueueWithEntry() const;
  [[nodiscard]] Doc Granted() const;
  [[nodiscard]] bool waits() const noexcept { return op_.grant.queue_for.count() > 0; }

  const AcquireOp& op_;
  const Uuid& instance_;
};

}  // namespace doclock::mongodb
