#pragma once

#include <vector>

#include "locking/database.h"
#include "sqlite/db/connection.h"
#include "sqlite/locks/lock_reader.h"
#include "sqlite/locks/renewal_row_cache.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// Writes decided changes, inside one write transaction: the rows in which a lock differs from what
/// was loaded. It decides nothing.
class LockWriter {
 public:
  LockWriter(Connection& connection, const StoreContext& context, RenewalRowCache& renewal_rows,
             TimePoint now, std::vector<Notification>& notifications) noexcept
      : connection_(connection),
        context_(context),
        renewal_rows_(renewal_rows),
        now_(now),
        notifications_(notifications) {}

  /// False: an index or the like refused it, which is the change's outcome; no row has changed.
  /// @throws DatabaseError if the transaction is spoilt
  [[nodiscard]] bool Put(locking::Change& change);

 private:
  /// A lock from what it was to what it is.
  struct Step {
    const SqliteCollection& collection;
    const LoadedDocument& was;
    const rules::LockState& now;
    LockColumns row;             ///< The document's new one.
    bool renewed = false;        ///< Only its lease was extended, in a row of its own.
    bool has_new_lease = false;  ///< `row` says when it ends, or that there is none any more.
  };

  void Erase(const SqliteCollection& collection, const LoadedDocument& was);
  [[nodiscard]] bool IsRenewal(const Step& step) const noexcept;
  [[nodiscard]] bool HasSameLease(const Step& step) const noexcept;
  void SetRow(Step& step);
  void SetLease(Step& step);
  [[nodiscard]] bool PutDocument(locking::Change& change, Step& step);
  [[nodiscard]] bool RunWithBody(locking::Change& change, Statement& statement);
  void PutLease(const locking::Change& change, const Step& step);
  [[nodiscard]] bool AddShares(locking::Change& change, const Step& step);
  void PutShares(const locking::Change& change, const Step& step);
  [[nodiscard]] StoredShare RowOf(const Step& step, const rules::Share& share,
                                  const StoredShare* was);
  void PutGroup(const Step& step);
  void PutQueue(const Step& step);
  void PutEntry(const Step& step, std::int64_t place, const rules::QueueEntry& entry);
  [[nodiscard]] Shares SharesOf(const SqliteCollection& collection) noexcept {
    return {connection_, collection.tables()};
  }
  [[nodiscard]] Queue QueueOf(const SqliteCollection& collection) noexcept {
    return {connection_, collection.tables()};
  }

  Connection& connection_;
  const StoreContext& context_;
  RenewalRowCache& renewal_rows_;
  const TimePoint now_;
  std::vector<Notification>& notifications_;  ///< Whom the changes concern.
};

}  // namespace doclock::sqlite
