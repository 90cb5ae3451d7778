#pragma once

#include <memory>

#include "doclock/store/store.h"

namespace doclock::conformance {

/// Makes a store that looks, decides, and then does what it has decided, whatever other clients
/// have done meanwhile. (All of it on another store, so that each kind of store can be broken so.)
/// It leaves renewals, releases, unique indexes and queues as they are.
std::shared_ptr<Store> MakeRacy(std::shared_ptr<Store> store);

}  // namespace doclock::conformance
