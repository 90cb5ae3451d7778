#pragma once

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// The turn of an attempt where a queue is known or asked for.

/// Of an exclusive attempt that waits, while another client holds the lock: it only leaves the
/// attempt's entry. If the lease is over by then, the turn is still to be taken.
Doc EntryStatement(const AcquireOp& op, const Uuid& instance);
/// A projection of the document as it was: { now: date, doc: {its lock fields} }.
Doc EntryProjection(const Collection& collection);

// The stages of the other turns are for a document that SoundLockFilter finds.

/// Of an exclusive attempt. Its stages grant a free lock to the first of the queue, which may be
/// the attempt itself, and leave the attempt's entry.
class Turn {
 public:
  /// @param instance of the store
  Turn(const AcquireOp& op, const Uuid& instance) : op_(op), instance_(instance) {}

  void AddStages(Array& stages) const;
  /// An expression of the document as it was: is the attempt granted the lock?
  [[nodiscard]] Doc Granted() const;
  /// The same: does it hold the lock already, live or over?
  [[nodiscard]] Doc Holds() const;

 private:
  [[nodiscard]] Doc QueueWithEntry() const;
  [[nodiscard]] bool waits() const noexcept { return op_.request.grant.queue_for.count() > 0; }

  const AcquireOp& op_;
  const Uuid& instance_;
};

/// Of a shared attempt. Its stages grant the share unless it would pass an exclusive entry, or take
/// the room of shared entries before it. Else they leave the attempt's entry, and grant a free lock
/// to the first of the queue if that is exclusive.
class ShareTurn {
 public:
  /// @param instance of the store
  ShareTurn(const AcquireOp& op, const Uuid& instance) : op_(op), instance_(instance) {}

  void AddStages(Array& stages) const;
  /// An expression of the document as it was: is the attempt granted its share?
  [[nodiscard]] Doc Granted() const;
  /// The same: does it have a live share already?
  [[nodiscard]] Doc Holds() const;

 private:
  [[nodiscard]] Doc QueueAfter() const;

  const AcquireOp& op_;
  const Uuid& instance_;
};

/// A projection of the document as a turn has met it: { granted: bool, now: date, doc: {...} }.
/// `doc` has the body if the attempt is granted the lock, or holds it already.
Doc TurnProjection(const Collection& collection, const Doc& granted, const Doc& holds);

}  // namespace doclock::mongodb
