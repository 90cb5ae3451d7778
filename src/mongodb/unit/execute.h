#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "doclock/store/store.h"
#include "locking/database.h"
#include "mongodb/client/clocks.h"
#include "mongodb/client/server.h"
#include "mongodb/unit/operations.h"
#include "rules/rules.h"

namespace doclock::mongodb {

/// Fails an acquire whose lease would be over at once, since holders give up early by the
/// difference of the members' clocks. Returns whether it did.
bool FailIfTooShort(StoreOp& op, const ClockWatch& clocks);

/// See Store::AcquireNext. @throws std::invalid_argument
void AcquireNext(Server& server, const Filter& filter, AcquireOp& op, Key& key,
                 std::chrono::milliseconds budget);

/// See locking::Database::RunPlain. Leaves those writes pending that did not find what they
/// expected.
void RunPlain(Server& server, const ClockWatch& clocks, std::span<const rules::PlainOp> ops,
              bool alone, std::chrono::milliseconds budget);

/// See Store::Commit. The server has to be a replica set. @throws Error
void Commit(Server& server, CommitOp& commit, Deadline deadline);

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
