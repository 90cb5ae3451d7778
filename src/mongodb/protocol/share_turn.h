#pragma once

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// The turn of a shared attempt where a queue is known or asked for. Its stages grant the share
/// unless it would pass an exclusive entry, or take the room of shared entries before it. Else they
/// leave the attempt's entry, and grant a free lock to the first of the queue if that is exclusive.
/// They are for a document that SoundLockFilter finds.
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

}  // namespace doclock::mongodb
