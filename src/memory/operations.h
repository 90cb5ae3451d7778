#pragma once

#include <optional>

#include "doclock/clock.h"
#include "doclock/store.h"
#include "memory/memory_collection.h"

namespace doclock::memory {

/// The time of one Execute call: read when first needed, and then the same for the whole batch. A
/// release needs none.
class Moment {
 public:
  explicit Moment(const Clock& clock) noexcept : clock_(clock) {}
  TimePoint Now() noexcept {
    if (!now_) now_ = clock_.Now();
    return *now_;
  }

 private:
  const Clock& clock_;
  std::optional<TimePoint> now_;
};

// The operations of store.h, each on one document. They take the shard's mutex themselves.
void Execute(AcquireOp& op, Moment& moment);
void Execute(RenewOp& op, Moment& moment);
void Execute(WriteOp& op, Moment& moment);
void Execute(SaveOp& op, Moment& moment);
void Execute(ReadOp& op, Moment& moment);

/// The collection of an operation, which this store opened.
inline MemoryCollection& CollectionOf(const StoreOp& op) noexcept {
  return static_cast<MemoryCollection&>(*op.collection);
}

/// Grants a document that is free to `op`, exclusively, and fills in the result. Under the shard's
/// mutex.
void GrantExisting(AcquireOp& op, Document& document, TimePoint now);

}  // namespace doclock::memory
