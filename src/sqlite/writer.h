#pragma once

#include <functional>
#include <memory>
#include <span>

#include "doclock/store.h"
#include "sqlite/connection.h"
#include "sqlite/database_error.h"
#include "sqlite/deadline.h"
#include "sqlite/file_set.h"
#include "sqlite/gate.h"
#include "sqlite/lease_places.h"
#include "sqlite/operations.h"
#include "sqlite/turnstile.h"

namespace doclock::sqlite {

/// The one connection that writes. Thread-safe: calls queue up, first in this process, then at the
/// gate.
class Writer {
 public:
  Writer(std::unique_ptr<Connection> connection, Gate& gate, const Surroundings& surroundings,
         std::chrono::milliseconds busy_timeout, const FileSet& files)
      : connection_(std::move(connection)),
        files_(files),
        gate_(gate),
        around_(surroundings),
        busy_timeout_(busy_timeout) {}

  /// How one operation is done.
  using Perform = std::function<void(Operations&, Connection&, StoreOp&)>;

  /// Executes operations, all in one transaction. Never throws for their sake.
  void Execute(std::span<StoreOp* const> ops, Deadline deadline);
  /// As above, in another way than Operations::Execute does it.
  void Execute(std::span<StoreOp* const> ops, Deadline deadline, const Perform& perform);

  /// Does something else in one transaction, which may take as long as it takes once it has begun.
  /// @throws DatabaseError, and what `what` throws.
  void Transact(Deadline deadline, const std::function<void(Operations&, Connection&)>& what);

 private:
  class Turn;

  void ExecuteAlone(StoreOp& op, Turn& turn, const Perform& perform);
  /// False: an operation spoilt the transaction, none was done. @throws DatabaseError if it did not
  /// even begin.
  bool TryAll(std::span<StoreOp* const> ops, Turn& turn, const Perform& perform);
  void Settle(std::span<StoreOp* const> ops, Operations& operations, const DatabaseError& error);
  void CheckFiles();
  bool Overwrite() noexcept;
  void RollBack() noexcept;

  Turnstile turnstile_;
  std::unique_ptr<Connection> connection_;
  const FileSet& files_;
  Gate& gate_;
  const Surroundings& around_;
  std::chrono::milliseconds busy_timeout_;
  LeasePlaces places_;
};

}  // namespace doclock::sqlite
