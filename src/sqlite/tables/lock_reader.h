#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "doclock/time.h"
#include "locking/database.h"
#include "sqlite/db/connection.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/tables/collection.h"
#include "sqlite/tables/era.h"

namespace doclock::sqlite {

/// What outlives a transaction, and looking at locks needs.
struct StoreContext {
  const Clock& clock;
  const ProcessCoordinator& coordinator;
  Era era;
  std::int64_t floor;  ///< The least version that a grant or a write gives.
};

/// A document, and the row that it was loaded from.
struct LoadedDocument : locking::Entry {
  std::int64_t id = 0;
  /// The first column of the lock that this library did not write so; null: all are sound.
  const char* bad_column = nullptr;
};

/// The columns of the table of locks, for a statement. @param prefix of each name
std::string LockColumns(const std::string& prefix);
inline constexpr int kLockColumnCount = 16;

/// Reads locks as they are at one moment, on any connection: the lease of a dead process is over.
class LockReader {
 public:
  LockReader(Connection& connection, const StoreContext& context)
      : connection_(connection), context_(context), now_(context.clock.Now()) {}

  [[nodiscard]] TimePoint now() const noexcept { return now_; }

  /// Returns null if there is none.
  std::unique_ptr<LoadedDocument> Find(const SqliteCollection& collection, const Key& key,
                                       bool with_body);
  /// Reads id, the lock, and further on the body. @param body its column; negative: not read
  LoadedDocument Read(const Statement& row, int body) const;
  /// Is the lock live? A malformed one may be held; it is not free.
  [[nodiscard]] bool IsLocked(const LoadedDocument& document) const noexcept {
    return document.bad_column != nullptr || document.lock.IsLive(now_);
  }
  /// See locking::Unit::ScanLocks.
  std::string ScanLocks(const SqliteCollection& collection, const LockQuery& query,
                        const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit);

 private:
  /// Returns the bad column, if there is one.
  const char* ReadLock(const Statement& row, rules::LockState& lock) const;
  /// @param era in which it was stored
  void Settle(rules::LockState& lock, std::int64_t era) const;
  [[nodiscard]] bool IsDead(std::int64_t instance) const noexcept {
    return context_.coordinator.Look(instance) == Liveness::kDead;
  }

  Connection& connection_;
  const StoreContext& context_;
  const TimePoint now_;
};

/// Stores a lock, inside a write transaction. @throws DatabaseError
void PutLock(Connection& connection, const SqliteCollection& collection, std::int64_t id,
             const rules::LockState& lock, std::int64_t era);

}  // namespace doclock::sqlite
