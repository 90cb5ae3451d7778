#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store.h"
#include "rules/lock_state.h"
#include "sqlite/db/connection.h"
#include "sqlite/locks/lease_evaluator.h"
#include "sqlite/locks/owners.h"
#include "sqlite/locks/queue.h"
#include "sqlite/locks/renewal_row_cache.h"
#include "sqlite/locks/shares.h"
#include "sqlite/locks/stored_lock.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/schema/sqlite_collection.h"

namespace doclock::sqlite {

/// What outlives a transaction and operations need.
struct Surroundings {
  const Clock& clock;
  const ProcessCoordinator& coordinator;
  LeaseEvaluator& evaluator;
  Owners& owners;
};

/// A row and its body.
struct StoredDocument {
  StoredLock lock;
  Body body;
};

std::optional<StoredDocument> FindDocument(Connection& connection,
                                           const SqliteCollection& collection, const Key& key);

/// A lock as it is stored, and what that means to the lock core.
struct LoadedLock {
  StoredLock row;
  rules::LockState state;
  bool malformed = false;    ///< The row or one of the shares is; then `state` tells too little.
  bool queue_known = false;  ///< `state` has the queue ...
  std::vector<StoredEntry> entries = {};  ///< ... and these are all its rows.
};

/// Looks at one document. On any connection.
class Reader {
 public:
  Reader(Connection& connection, const Surroundings& surroundings)
      : connection_(connection), around_(surroundings), now_(surroundings.clock.Now()) {}

  void Execute(ReadOp& op);

  std::optional<StoredLock> Find(const SqliteCollection& collection, const Key& key);
  std::optional<StoredLock> FindById(const SqliteCollection& collection, std::int64_t doc);
  std::optional<StoredDocument> FindWithBody(const SqliteCollection& collection, const Key& key);
  /// With all shares; without intent, queue, owner and group.
  LoadedLock Load(const SqliteCollection& collection, const StoredLock& row);
  /// A lock for a purge to clear.
  std::optional<LoadedLock> FindPurgeable(const SqliteCollection& collection, std::int64_t doc);
  /// Settles an attempt whose id holds the lock already, from the queue. False: it does not.
  [[nodiscard]] bool SeesPassedOn(AcquireOp& op);
  /// Is it free, and does no client wait for it?
  [[nodiscard]] bool MayTakeNext(const SqliteCollection& collection, const StoredLock& row);
  /// See Store::ListLocks.
  LockPage List(const SqliteCollection& collection, const LockQuery& query,
                const std::string& after);
  /// The number of intents that their writers' locks, or time, have ended.
  [[nodiscard]] std::int64_t CountOldIntents(const SqliteCollection& collection);
  [[nodiscard]] TimePoint now() const noexcept { return now_; }

 protected:
  Connection& connection_;
  const Surroundings& around_;
  TimePoint now_;

  Shares SharesOf(const SqliteCollection& collection) noexcept {
    return {connection_, collection.tables()};
  }
  /// By the lock's own columns: without shares.
  LoadedLock LoadRow(const SqliteCollection& collection, const StoredLock& row);
  void LoadShares(const SqliteCollection& collection, LoadedLock& lock);
  /// One of them.
  void AddShare(const SqliteCollection& collection, LoadedLock& lock, const StoredShare& share);
  void LoadIntent(const SqliteCollection& collection, LoadedLock& lock);
  /// Leaves out the entries of waiters that are gone.
  void LoadQueue(const SqliteCollection& collection, LoadedLock& lock);
  Queue QueueOf(const SqliteCollection& collection) noexcept {
    return {connection_, collection.tables()};
  }
  void NoteIntent(const SqliteCollection& collection, const LoadedLock& lock);
  void LoadOwner(LoadedLock& lock);

 private:
  void AddRows(const SqliteCollection& collection, const StoredLock& stored, Statement& row,
               const LockQuery& query, std::vector<LockRow>& rows);
  void SetAge(LoadedLock& lock, std::int64_t wall) const;
  void LoadSharesToList(const SqliteCollection& collection, LoadedLock& lock);
  [[nodiscard]] TimePoint GrantedAt(const StoredLock& lock, std::chrono::nanoseconds granted,
                                    std::int64_t wall) const;
};

/// The operations of store.h inside one write transaction, at one moment: load, let the lock core
/// (rules/) decide, write what it changed. What is found cannot change before the commit. They
/// throw DatabaseError when the transaction is spoilt, and give a result otherwise.
///
/// Three short cuts load nothing, because most operations are of their kind: ReleaseKnown,
/// RenewKnown and LeaveShared. Each changes rows only where the rules would do the same, and leaves
/// everything else to the long way (tests/sqlite/rules/rules_test.cpp).
class Operations : public Reader {
 public:
  Operations(Connection& connection, const Surroundings& surroundings,
             RenewalRowCache& renewal_rows)
      : Reader(connection, surroundings), renewal_rows_(renewal_rows) {}

  using Reader::Execute;
  void Execute(AcquireOp& op);
  void Execute(RenewOp& op);
  void Execute(WriteOp& op);
  void Execute(SaveOp& op);
  /// Any of these.
  void Execute(StoreOp& op);

  /// Of a document that was found. The key is op.key.
  void Acquire(AcquireOp& op, StoredDocument& document);
  /// Clears a lock that FindPurgeable gave.
  void Purge(const SqliteCollection& collection, LoadedLock& lock);
  /// Another client may wait for this.
  void AddNotification(const SqliteCollection& collection, std::size_t key_hash);
  /// The lock became free, or was passed on: then only the new holder's process needs to know.
  void AddNotification(const SqliteCollection& collection, std::size_t key_hash,
                       const rules::LockState& state);

  /// What was freed so far.
  [[nodiscard]] const std::vector<Notification>& notifications() const noexcept {
    return notifications_;
  }
  /// Shows whether an operation that was done is there. @throws DatabaseError
  [[nodiscard]] bool IsVisible(const StoreOp& op);

 private:
  void Create(AcquireOp& op);
  void AcquireShare(AcquireOp& op, StoredDocument& document, bool look);
  void Decide(AcquireOp& op, LoadedLock& lock);
  bool RenewKnown(const RenewOp& op);
  bool ReleaseKnown(WriteOp& op);
  bool LeaveShared(WriteOp& op);
  std::optional<StoredDocument> FindToWrite(const WriteOp& op);
  void LoadToRelease(const SqliteCollection& collection, LoadedLock& lock, const Uuid& mine);
  bool Write(WriteOp& op, const LoadedLock& lock, const Body& body);
  bool LeaveOthers(WriteOp& op, const LoadedLock& lock, const Body& body);
  bool Save(SaveOp& op, const LoadedLock& lock, bool there);

  // What the rules made of a lock, as a row. `since` is the begin of its lease, or of its being
  // free.
  [[nodiscard]] StoredLock RowOf(const LoadedLock& lock, TimePoint since) const;
  [[nodiscard]] StoredLock GrantedRow(const LoadedLock& lock, const OwnerPtr& owner, bool detached);
  /// Of a lock that was freed, or passed on.
  [[nodiscard]] StoredLock FreedRow(const LoadedLock& lock, TimePoint since);
  [[nodiscard]] StoredShare ShareFor(const LoadedLock& lock, const GrantRequest& grant);
  [[nodiscard]] std::int64_t SlotFor(bool detached) const noexcept;

  void Put(const SqliteCollection& collection, const StoredLock& row);
  // These write a body. False: a unique index or the like refused it, which is the operation's
  // result.
  bool PutDocument(StoreOp& op, const StoredLock& row, const Body& body);
  bool PutNew(StoreOp& op, const StoredLock& row, const Body& body);
  bool RunWithBody(StoreOp& op, Statement& statement);

  /// The row of a granted lock, and what the side tables hold of it but for shares.
  void PutGrant(const SqliteCollection& collection, const LoadedLock& lock, const OwnerPtr& owner,
                bool detached);
  void PutGroup(const SqliteCollection& collection, const LoadedLock& lock);
  void PutLease(const RenewOp& op, const LoadedLock& lock);
  void PutRenewed(const RenewOp& op, const LoadedLock& lock, StoredShare& share);
  /// What the side tables hold of a lock that was passed on, and of one that was freed.
  void PutFreed(const SqliteCollection& collection, const LoadedLock& lock);
  /// Writes the entries that changed. The row says whether there are any.
  void PutQueue(const SqliteCollection& collection, const LoadedLock& lock);
  /// Is there an entry of this id?
  [[nodiscard]] bool HasEntry(const SqliteCollection& collection, const StoredLock& row,
                              const Uuid& id);
  void PutEntry(const SqliteCollection& collection, const LoadedLock& lock, std::int64_t place,
                const rules::QueueEntry& entry);
  void PutAfterRefusal(const AcquireOp& op, const LoadedLock& lock, const rules::Intent& before);
  void PutIntent(const AcquireOp& op, std::int64_t doc);

  // What the side tables held of a lock as it was `before`: of any; of one that was shared and is
  // not any more; of one that is exclusive now, or erased; shares that are over.
  void DropLease(const SqliteCollection& collection, const StoredLock& before);
  void DropShared(const SqliteCollection& collection, const StoredLock& before);
  void DropIntent(const SqliteCollection& collection, const StoredLock& before);
  void DropOver(const SqliteCollection& collection, std::int64_t doc,
                const std::vector<rules::Share>& shares);
  void Drop(const SqliteCollection& collection, Sql which, std::int64_t doc);
  void Erase(const SqliteCollection& collection, const StoredLock& before);

  static void Malformed(StoreOp& op, const char* column = nullptr);

  RenewalRowCache& renewal_rows_;
  std::vector<Notification> notifications_;
};

/// Of rows whose lock columns somebody else wrote. @param column which, or null
std::string MalformedText(const char* column);

}  // namespace doclock::sqlite
