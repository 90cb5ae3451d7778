#pragma once

#include <cstddef>
#include <functional>

#include "doclock/detail/engine.h"
#include "engine/leases/lease_book.h"

namespace doclock::detail {

/// Asks the store once for any free document that matches the filter. The failure of a search in
/// vain is kNotFound. @param asks_free_in tells then, as `remaining`, when a document falls due or
/// a lock ends
AcquireResult SearchOnce(LeaseBook& book, const AcquireSpec& spec, bool asks_free_in);

/// Why a wait for such a document ended without one.
FailurePtr NothingFree(const AcquireSpec& spec, Errc code) noexcept;

/// Where the lines of a collection's searches are found in the WaitTable.
inline std::size_t HashOfSearches(const Collection& collection) noexcept {
  return std::hash<const void*>()(&collection);
}

/// Whether there is nothing for `b` if there is nothing for `a`.
bool WantsTheSame(const AcquireSpec& a, const AcquireSpec& b);

}  // namespace doclock::detail
