#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "doclock/body.h"
#include "doclock/uuid.h"

namespace doclock {

/// What a hint tells of a grant from the queue. It may be late or come twice, so it carries no
/// time: the lease counts from when its waiter last placed its entry.
struct GrantSeen {
  Uuid lock_id{};            ///< The id of the waiter's entry; nil: not known.
  std::int64_t version = 0;  ///< lockVersion after the grant.
  Uuid born{};               ///< The document's incarnation; nil: it has none, or it is not known.
  Body body = {};            ///< After the grant; none: not known.
};

/// What may have happened to locks of one collection.
struct LockHint {
  /// Key::Hash of the document's key, which is the same in other processes.
  /// Nothing: any document may be concerned.
  std::optional<std::size_t> hash = {};
  /// The lock was granted from the queue, by a write that was acknowledged and cannot be lost any
  /// more. Nothing: it may have become free, or been granted.
  std::optional<GrantSeen> grant = {};
};

/// See Store::Watch.
using HintListener = std::function<void(const LockHint&)>;

}  // namespace doclock
