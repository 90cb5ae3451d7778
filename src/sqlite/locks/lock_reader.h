#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "doclock/clock.h"
#include "locking/database.h"
#include "sqlite/db/connection.h"
#include "sqlite/locks/lease_evaluator.h"
#include "sqlite/locks/lock_columns.h"
#include "sqlite/locks/owners.h"
#include "sqlite/locks/queue.h"
#include "sqlite/locks/shares.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/schema/sqlite_collection.h"

namespace doclock::sqlite {

/// What outlives a transaction, and looking at locks needs.
struct StoreContext {
  const Clock& clock;
  const ProcessCoordinator& coordinator;
  LeaseEvaluator& evaluator;
  Owners& owners;
};

/// A document, and the rows that it was loaded from.
struct LoadedDocument : locking::Entry {
  LockColumns row;
  std::vector<StoredShare> shares;   ///< In the order of lock.shares.
  std::vector<StoredEntry> entries;  ///< All rows of its queue; lock.queue has those that count.
  bool malformed = false;            ///< Then `lock` tells too little.
  const char* bad_part = nullptr;    ///< Of a malformed one, if it is known.
};

/// Loads locks as they are at one moment, on any connection.
class LockReader {
 public:
  LockReader(Connection& connection, const StoreContext& context)
      : connection_(connection), context_(context), now_(context.clock.Now()) {}

  [[nodiscard]] TimePoint now() const noexcept { return now_; }

  /// With all that is stored of it; null: there is none.
  std::unique_ptr<LoadedDocument> Find(const SqliteCollection& collection, const Key& key);
  /// Is the lock of a row live? A malformed one may be held; it is not free.
  [[nodiscard]] bool IsLocked(const SqliteCollection& collection, const LockColumns& row);
  /// See locking::Unit::ScanLocks.
  std::string ScanLocks(const SqliteCollection& collection, const LockQuery& query,
                        const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit);

 private:
  void Load(const SqliteCollection& collection, LoadedDocument& document);
  void LoadLease(const SqliteCollection& collection, LoadedDocument& document);
  void LoadShares(const SqliteCollection& collection, LoadedDocument& document);
  void LoadQueue(const SqliteCollection& collection, LoadedDocument& document);
  void SetAges(LoadedDocument& document, std::int64_t wall) const;
  [[nodiscard]] TimePoint GrantedAt(const LockColumns& lock, std::chrono::nanoseconds granted,
                                    std::int64_t wall) const;

  Connection& connection_;
  const StoreContext& context_;
  const TimePoint now_;
};

}  // namespace doclock::sqlite
