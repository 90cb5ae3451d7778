#pragma once

#include <functional>
#include <memory>
#include <span>

#include "doclock/store.h"
#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"
#include "sqlite/db/deadline.h"
#include "sqlite/db/file_set.h"
#include "sqlite/db/timed_mutex.h"
#include "sqlite/locks/renewal_row_cache.h"
#include "sqlite/operations/operations.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// The one connection that writes. Thread-safe: calls queue, first in this process, then among the
/// processes.
class Writer {
 public:
  Writer(std::unique_ptr<Connection> connection, ProcessCoordinator& coordinator,
         const Surroundings& surroundings, std::chrono::milliseconds busy_timeout,
         const FileSet& files);

  /// Performs one operation.
  using Perform = std::function<void(Operations&, Connection&, StoreOp&)>;

  /// Executes operations, all in one transaction. A failed operation says so itself.
  void Execute(std::span<StoreOp* const> ops, Deadline deadline);
  /// As above, in another way than Operations::Execute does it.
  void Execute(std::span<StoreOp* const> ops, Deadline deadline, const Perform& perform);

  /// Calls `what` in one transaction, which has no deadline once it has begun.
  /// @throws DatabaseError, and what `what` throws.
  void Transact(Deadline deadline, const std::function<void(Operations&, Connection&)>& what);

 private:
  class Turn;

  void ExecuteAlone(StoreOp& op, Turn& turn, const Perform& perform);
  /// False: an operation spoilt the transaction, none was done. @throws DatabaseError if it did not
  /// even begin.
  bool TryAll(std::span<StoreOp* const> ops, Turn& turn, const Perform& perform);
  void Settle(std::span<StoreOp* const> ops, Operations& operations, const DatabaseError& error);
  bool Overwrite() noexcept;
  void RollBack() noexcept;

  TimedMutex mutex_;
  std::unique_ptr<Connection> connection_;
  const FileSet& files_;
  ProcessCoordinator& coordinator_;
  const Surroundings& around_;
  std::chrono::milliseconds busy_timeout_;
  RenewalRowCache renewal_rows_;
};

}  // namespace doclock::sqlite
