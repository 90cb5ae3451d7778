#pragma once

#include "simulation/database/member.h"

namespace doclock::simulation {

/// Is told what is in the database.
class DatabaseWatcher {
 public:
  DatabaseWatcher() = default;
  DatabaseWatcher(const DatabaseWatcher&) = delete;
  DatabaseWatcher& operator=(const DatabaseWatcher&) = delete;
  virtual ~DatabaseWatcher() = default;
  /// A request reaches the primary.
  virtual void OnRequest(const StoreOp& op) = 0;
  virtual void OnChange(const Change& change) = 0;
  /// The new primary does not have it. The latest changes go first.
  virtual void OnUndone(const Change& change) = 0;
  /// A deposed primary did it. No other member will ever have it.
  virtual void OnFutile(const Change& change) = 0;
};

}  // namespace doclock::simulation
