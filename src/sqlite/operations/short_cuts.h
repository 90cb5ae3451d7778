#pragma once

#include <vector>

#include "doclock/store.h"
#include "rules/lock_state.h"
#include "sqlite/db/connection.h"
#include "sqlite/locks/lock_reader.h"
#include "sqlite/locks/renewal_row_cache.h"
#include "sqlite/locks/shares.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// Operations that few statements carry out without a look at the whole lock, because most
/// operations are of their kind. They change rows only where the rules would do the same
/// (tests/sqlite/rules/rules_test.cpp).
class ShortCuts {
 public:
  ShortCuts(Connection& connection, const StoreContext& context, RenewalRowCache& renewal_rows,
            TimePoint now, std::vector<Notification>& notifications) noexcept
      : connection_(connection),
        context_(context),
        renewal_rows_(renewal_rows),
        now_(now),
        notifications_(notifications) {}

  /// See locking::Unit::Try. @throws DatabaseError if the transaction is spoilt
  bool Try(StoreOp& op);
  /// After a COMMIT that failed: is what Try has done stored? @param document as it stands; null:
  /// there is none
  [[nodiscard]] static bool Shows(const LoadedDocument* document, const StoreOp& op, TimePoint now);

 private:
  bool TakeShare(AcquireOp& op);
  bool Renew(const RenewOp& op);
  bool RenewShare(const RenewOp& op, std::int64_t doc);
  bool Release(WriteOp& op);
  bool LeaveShare(WriteOp& op);

  Connection& connection_;
  const StoreContext& context_;
  RenewalRowCache& renewal_rows_;
  const TimePoint now_;
  std::vector<Notification>& notifications_;
};

}  // namespace doclock::sqlite
