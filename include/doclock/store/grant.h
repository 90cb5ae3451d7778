#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "doclock/errors.h"
#include "doclock/lock_options.h"
#include "doclock/uuid.h"

namespace doclock {

/// Shared, immutable: who takes a lock.
using OwnerPtr = std::shared_ptr<const LockHolder>;

/// What a document shows as the lock id while shares are held. Each share has an id of its own.
/// Nobody holds a lock by it: acquiring with it is kRefused, renewing or writing by it is kLost.
inline const Uuid kSharedLockId = {{0x64, 0x6f, 0x63, 0x6c, 0x6f, 0x63, 0x4b, 0x00, 0x80, 0x00,
                                    0x73, 0x68, 0x61, 0x72, 0x65, 0x64}};

/// A lock to be granted: the request half of an acquire and of a hand-over.
struct GrantRequest {
  Uuid lock_id{};                   ///< Fresh per attempt; never nil.
  std::chrono::milliseconds ttl{};  ///< Length of the lease.
  OwnerPtr owner = nullptr;         ///< For people; may be null.
  /// For so long after this grant, by the store's clock, nobody is granted this lock, released or
  /// not, holder alive or not. Kept beside the lock; a release leaves it. A hand-over may be
  /// granted meanwhile; it can prolong this time, and never shortens it.
  std::chrono::milliseconds min_hold{};
  /// The lease alone decides, even if this process dies: for locks that outlive their handle
  /// (stores without a way to see a dead process ignore it).
  bool detached = false;
  std::string group = {};                ///< LockOptions::group; kept beside the lock.
  LockMode mode = LockMode::kExclusive;  ///< AcquireOp says who is granted which.
  int max_holders = kMaxHolders;         ///< With kShared: this grant's limit.
  /// With kExclusive: if shares stand in the way, leave an intent of this id that keeps new shares
  /// out for `intent` from now; asking again renews it. The same for all attempts of one waiter.
  /// Nil: none.
  Uuid intent_id{};
  std::chrono::milliseconds intent{};  ///< See intent_id.
};

}  // namespace doclock
