#pragma once

#include <string>

#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/statements/expressions.h"

namespace doclock::mongodb {

// The queue of a document's waiters, for commands. lockQueue is an array of
//   { id: UUID, until: date, ttl: ms, hold: ms, owner: {...}, group: text, share: limit,
//     wake: binary },
// absent when there are none. `share` is there if the waiter wants a share. The queue decides
// nothing about exclusion. So what a foreign program wrote there counts as an entry that is over,
// and the next write drops it.
//
// A client that frees the lock grants it to the first live entry if that is exclusive, and copies
// that entry's `wake` to lockPassed: the id of the waiter's store instance before the lock id, so
// that each instance can ask the server for the grants to itself.

inline constexpr std::int64_t kMostEntries = kMaxQueueEntries;

/// An expression: the live entries.
Doc LiveEntries(const Collection& collection);

/// The entry of an attempt. @param instance of the store, which `wake` names
Doc EntryOf(const AcquireOp& op, const Uuid& instance);
/// An expression: $$others with this entry, in its place or as the last.
Doc WithEntry(const Uuid& id, const Doc& entry);
/// An expression: $$others has no entry of this id, and there is no room for one more.
Doc HasNoRoomFor(const Collection& collection, const Uuid& id);

/// No queue is stored: for statements that neither read nor change one.
void AddNoQueue(Doc& filter, const Collection& collection);
/// An expression: no entry is live.
Doc NobodyWaitsExpr(const Collection& collection);

/// The stage that removes the entry of this id, and those that are over.
void AddEntryRemoval(Array& stages, const Collection& collection, const Uuid& id);
/// The stages that clear the lock, or grant it to the first live entry unless min_hold lasts. They
/// do not raise the version.
void AddGrantToFirst(Array& stages, const Collection& collection);

/// Does the stage that grants raise the version, or did an earlier one?
enum class Raise : std::uint8_t { kYes, kNo };
/// After the stages that end a share: those that grant the lock to the first if it was the last
/// one. They raise the version with the grant, unless an earlier stage did.
void AddGrantAfterLastShare(Array& stages, const Collection& collection, Raise raise);

/// Grants the lock to the first of a queue, if that is exclusive. Its first stage puts what the
/// others need in place of the queue: { live: the entries, first: the first of them, go: is it
/// granted the lock? }.
class FirstGrant {
 public:
  explicit FirstGrant(const Collection& collection)
      : names_(collection.fields()), queue_(FieldPath(names_.queue)), where_go_(queue_ + ".go") {}

  /// @param queue an expression for the live entries
  /// @param may an expression: may the first be granted the lock?
  /// @param more what else is put there
  static Doc Decision(const Doc& queue, const Doc& may, const Doc& more = {});
  void AddDecision(Array& stages, const Doc& decision) const;

  /// @param otherwise the lock's id if nothing is granted: an expression, or nullptr for null
  /// @param own the entry of the attempt itself, which is granted its whole lease
  template <class Otherwise>
  void AddGrant(Array& stages, const Otherwise& otherwise, Raise raise,
                const Uuid* own = nullptr) const {
    AddGrantOf(stages, Call("$cond", queue_ + ".go", queue_ + ".first.id", otherwise), raise, own);
  }

  /// An empty queue is none.
  void AddTidying(Array& stages) const;

 private:
  void AddGrantOf(Array& stages, const Doc& id, Raise raise, const Uuid* own) const;

  const LockFieldNames& names_;
  const std::string queue_;
  const SetWhere where_go_;
};

// The turn of an attempt where a queue is known or asked for.

/// The turn of an exclusive attempt that waits, while another client holds the lock: it only leaves
/// the attempt's entry. If the lease is over by then, another turn follows.
Doc EntryStatement(const AcquireOp& op, const Uuid& instance);
/// A projection of the document as it was: { now: date, doc: {its lock fields} }.
Doc EntryProjection(const Collection& collection);

// The stages of the other turns are for a document that SoundLockFilter finds.

/// The turn of an exclusive attempt. Its stages grant a free lock to the first of the queue, which
/// may be the attempt itself, and leave the attempt's entry.
class Turn {
 public:
  /// @param instance of the store
  Turn(const AcquireOp& op, const Uuid& instance) : op_(op), instance_(instance) {}

  void AddStages(Array& stages) const;
  /// An expression of the document as it was: is the attempt granted the lock?
  [[nodiscard]] Doc Granted() const;
  /// Whether it holds the lock already, live or over.
  [[nodiscard]] Doc Holds() const;

 private:
  [[nodiscard]] Doc QueueWithEntry() const;
  [[nodiscard]] bool waits() const noexcept { return op_.request.grant.queue_for.count() > 0; }

  const AcquireOp& op_;
  const Uuid& instance_;
};

/// The turn of a shared attempt. Its stages grant the share unless it would pass an exclusive
/// entry, or take the room of shared entries before it. Else they leave the attempt's entry, and
/// grant a free lock to the first of the queue if that is exclusive.
class ShareTurn {
 public:
  /// @param instance of the store
  ShareTurn(const AcquireOp& op, const Uuid& instance) : op_(op), instance_(instance) {}

  void AddStages(Array& stages) const;
  /// An expression of the document as it was: is the attempt granted its share?
  [[nodiscard]] Doc Granted() const;
  /// Whether it has a live share already.
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
