#pragma once

#include <functional>
#include <string>

#include "doclock/store.h"
#include "locking/database.h"
#include "mongodb/operations/operations.h"

namespace doclock::mongodb {

/// Which locks a scan shows.
struct LockScan : LockQuery {
  bool over = false;  ///< Only those whose leases are over.
};

using LockVisitor = std::function<bool(locking::Candidate&&)>;

/// See locking::Unit::ScanLocks. Finds held locks by the index of EnsureIndexes: a document whose
/// lock id is not an id at all is shown only if its key is asked for, or if free documents are,
/// too. A page of which `visit` has seen enough counts as seen.
std::string ScanLocks(Operations& operations, const Collection& collection, const LockScan& query,
                      const std::string& after, const LockVisitor& visit);

}  // namespace doclock::mongodb
