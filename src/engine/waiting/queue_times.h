#pragma once

#include <algorithm>
#include <chrono>

#include "engine/leases/probation.h"

namespace doclock::detail {

/// The longest time between two attempts of a waiter in the store's queue. When it learns of a
/// grant, most of its lease is left: the lease counts from the last attempt that was busy.
inline std::chrono::milliseconds RefreshAfter(std::chrono::milliseconds ttl) noexcept {
  return std::max(ProbationOf(ttl) / 4, std::chrono::milliseconds(1));
}

/// How long an entry counts: three attempts may fail to refresh it.
inline std::chrono::milliseconds EntryLength(std::chrono::milliseconds ttl) noexcept {
  return std::max<std::chrono::milliseconds>(3 * RefreshAfter(ttl), std::chrono::seconds(1));
}

}  // namespace doclock::detail
