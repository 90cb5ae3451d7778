#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "doclock/errors.h"
#include "doclock/lock_options.h"
#include "doclock/uuid.h"

namespace doclock {

/// The client that takes a lock. Shared, immutable.
using OwnerPtr = std::shared_ptr<const LockHolder>;

/// What a document shows as the lock id while shares are held. Each share has an id of its own.
/// No client can hold a lock by it: an acquire with it is kRefused, a renewal or write by it is
/// kLost.
inline const Uuid kSharedLockId = {{0x64, 0x6f, 0x63, 0x6c, 0x6f, 0x63, 0x4b, 0x00, 0x80, 0x00,
                                    0x73, 0x68, 0x61, 0x72, 0x65, 0x64}};

/// The most entries in a document's queue. A waiter that finds it full leaves none, and polls.
inline constexpr std::size_t kMaxQueueEntries = 64;

/// The longest lease of a lock that was granted from the queue, until its first renewal or
/// checkpoint. A waiter that died meanwhile costs the others no more than this.
inline constexpr std::chrono::milliseconds kProbation = std::chrono::seconds(5);

/// The request for a lock: half of an acquire, and of a hand-over.
struct GrantRequest {
  Uuid lock_id{};                   ///< Fresh per attempt; never nil.
  std::chrono::milliseconds ttl{};  ///< Length of the lease.
  OwnerPtr owner = nullptr;         ///< Diagnostic only; may be null.
  /// For this long after the grant, by the store's clock, no other client is granted the lock,
  /// whether it was released or not, and whether its holder lives or not. Kept beside the lock; a
  /// release leaves it. A hand-over may be granted meanwhile; it can prolong this time, and never
  /// shortens it.
  std::chrono::milliseconds min_hold{};
  /// The lease alone decides, even if this process dies: for locks that outlive their handle.
  /// (Stores that cannot see that a process is dead ignore this.)
  bool detached = false;
  std::string group = {};                ///< LockOptions::group; kept beside the lock.
  LockMode mode = LockMode::kExclusive;  ///< See AcquireOp for the rules.
  int max_holders = kMaxHolders;         ///< With kShared: this grant's limit.
  /// For stores with StoreTraits::queues; 0: the attempt leaves no entry. An
  /// AcquireOp that is kBusy leaves an entry under `lock_id` in the document's queue, or refreshes
  /// it in its place, and the entry counts for this long from now. All attempts of one waiter use
  /// the same lock_id.
  std::chrono::milliseconds queue_for{};
  /// In a hand-over (WriteOp::Request::next) in such a store: the id of the waiter's entry, which
  /// the same write removes; nil: it has none. The rest of the queue stays as it is.
  Uuid entry{};
};

}  // namespace doclock
