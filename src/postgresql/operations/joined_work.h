#pragma once

#include <functional>
#include <string>

#include "postgresql/client/connection.h"

namespace doclock::postgresql {

/// The user's own statements in a transaction that has begun.
class JoinedWork {
 public:
  /// @param connection stays where it is, as long as this lives.
  JoinedWork(Connection& connection, Deadline deadline)
      : connection_(connection), deadline_(deadline) {}

  /// Lends `f` the connection, and looks at what it left. @throws what `f` throws; std::logic_error
  /// if it did what it may not; StoreException. The caller does not commit the transaction then.
  void Run(const std::function<void(PGconn*)>& f);

 private:
  /// Asks what there is before and behind it. @throws as Run; Refusal, Loss
  void RunBetween(const std::function<void(PGconn*)>& f);
  void Lend(const std::function<void(PGconn*)>& f);
  Connection& connection_;
  const Deadline deadline_;
};

}  // namespace doclock::postgresql
