#pragma once

#include <span>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// A filter for the documents of these renewals, all of one collection, if they hold the locks.
Doc RenewalFilter(std::span<RenewOp* const> ops);

/// The update that renews all of them, which have one ttl.
Doc RenewalCommand(std::span<RenewOp* const> ops);

}  // namespace doclock::mongodb
