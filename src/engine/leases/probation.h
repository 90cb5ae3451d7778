#pragma once

#include <algorithm>
#include <chrono>

#include "doclock/store/store.h"

namespace doclock::detail {

/// The length of the lease of a lock that was granted from the store's queue, until it is renewed.
inline std::chrono::milliseconds ProbationOf(std::chrono::milliseconds ttl) noexcept {
  return std::min(ttl, kProbation);
}

}  // namespace doclock::detail
