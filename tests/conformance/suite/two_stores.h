#pragma once

#include <functional>
#include <string>

#include "store_conformance.h"

namespace doclock::conformance {

// What a store shows to another one over the same data. Each check returns what was wrong; empty:
// nothing.

/// The hints of `things` that the store of `others` hears, before and after some may have been
/// lost.
std::string FaultAfterAGap(Client& things, Client& others, const std::function<void()>& lose_hints);

/// The end of a subscription of `others` while its listener is called.
std::string FaultAtTheEnd(Client& things, Client& others);

/// A store that was opened with OpenMode::kExisting.
std::string FaultOfExisting(Store& existing);

}  // namespace doclock::conformance
