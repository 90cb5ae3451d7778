#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "doclock/clock.h"
#include "doclock/store.h"
#include "memory/memory_collection.h"

namespace doclock::memory {

/// The time of one Execute call: read when it is first needed, and then the same for the whole
/// batch. A release does not need it.
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

// The operations of store.h, each on one document. They take the shard's mutex themselves, and let
// the lock core (rules/) decide.
void Execute(AcquireOp& op, Moment& moment);
void Execute(RenewOp& op, Moment& moment);
void Execute(WriteOp& op, Moment& moment);
void Execute(SaveOp& op, Moment& moment);
void Execute(ReadOp& op, Moment& moment);

/// See Store::Query.
void Query(MemoryCollection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, TimePoint now);

/// See Store::AcquireNext.
void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, TimePoint now);
/// See Store::Purge.
std::int64_t Purge(MemoryCollection& collection, std::int64_t limit, TimePoint now);
/// See Store::ListLocks. A page is a shard; `after` is its number.
LockPage ListLocks(MemoryCollection& collection, const LockQuery& query, const std::string& after,
                   TimePoint now);

/// The collection of an operation, which this store opened.
inline MemoryCollection& CollectionOf(const StoreOp& op) noexcept {
  return static_cast<MemoryCollection&>(*op.collection);
}

}  // namespace doclock::memory
