#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store.h"
#include "sqlite/db/connection.h"
#include "sqlite/locks/lease_evaluator.h"
#include "sqlite/locks/owners.h"
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
  LeaseEvaluator& judge;
  Owners& owners;
};

/// A row and its body.
struct StoredDocument {
  StoredLock lock;
  Body body;
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
  /// Of a lock that is not malformed. A shared one is live while one of its shares is.
  Verdict Judged(const SqliteCollection& collection, const StoredLock& lock) {
    return lock.id == kSharedLockId ? JudgedShared(collection, lock)
                                    : around_.judge.Of(collection, lock, now_);
  }
  /// See Store::ListLocks.
  LockPage List(const SqliteCollection& collection, const LockQuery& query,
                const std::string& after);
  [[nodiscard]] TimePoint now() const noexcept { return now_; }

 protected:
  Connection& connection_;
  const Surroundings& around_;
  TimePoint now_;

  Shares SharesOf(const SqliteCollection& collection) noexcept {
    return {connection_, collection.tables()};
  }
  ShareCount Count(const SqliteCollection& collection, const std::vector<StoredShare>& shares);

 private:
  Verdict JudgedShared(const SqliteCollection& collection, const StoredLock& lock);
  LockRow RowOf(const SqliteCollection& collection, const StoredLock& lock, Statement& row);
  void AddShareRows(const SqliteCollection& collection, const StoredLock& lock, const LockRow& row,
                    const std::string& group, std::vector<LockRow>& rows);
  std::chrono::milliseconds AgeOf(const StoredLock& lock, std::chrono::nanoseconds granted,
                                  std::int64_t wall) const;
};

/// The operations of store.h inside one write transaction, at one moment. What is found cannot
/// change before the commit, so they look first and write then. They throw DatabaseError when the
/// transaction is spoilt, and give a result otherwise.
class Operations : public Reader {
 public:
  Operations(Connection& connection, const Surroundings& surroundings, RenewalRowCache& places)
      : Reader(connection, surroundings), places_(places) {}

  using Reader::Execute;
  void Execute(AcquireOp& op);
  void Execute(RenewOp& op);
  void Execute(WriteOp& op);
  void Execute(SaveOp& op);
  /// Any of these.
  void Execute(StoreOp& op);

  /// Grants a document that is free. The key is op.key.
  void Grant(AcquireOp& op, StoredDocument& document);
  /// See Store::Intervene; of a lock that may be intervened with.
  void Intervene(const SqliteCollection& collection, StoredLock& lock, Intervention what);
  /// Clears a lock that is over, and nothing else.
  void Purge(const SqliteCollection& collection, StoredLock& lock);
  /// Somebody may wait for this.
  void AddNotification(const SqliteCollection& collection, std::size_t key_hash);

  /// What was freed so far.
  [[nodiscard]] const std::vector<Notification>& notifications() const noexcept {
    return notifications_;
  }
  /// Shows whether an operation that was done is there. @throws DatabaseError
  [[nodiscard]] bool IsVisible(const StoreOp& op);

 private:
  /// Writes the lock's columns.
  void Put(const SqliteCollection& collection, const StoredLock& lock);
  /// Deletes the renewed lease, if there is one.
  void DropLease(const SqliteCollection& collection, StoredLock& lock);
  void Create(AcquireOp& op);
  void AcquireShare(AcquireOp& op, StoredDocument& document);
  bool HasRoom(AcquireOp& op, const StoredLock& lock, const Verdict& own);
  /// @param others_left of the lease that covers all shares
  void GrantShare(AcquireOp& op, StoredDocument& document, std::chrono::milliseconds others_left);
  bool AddShare(AcquireOp& op, const StoredLock& lock);
  StoredShare ShareFor(const StoredLock& lock, const GrantRequest& grant);
  void LeaveIntent(const AcquireOp& op, const StoredLock& lock);
  void RenewShare(RenewOp& op);
  bool RenewKnownShare(RenewOp& op);
  void RenewStoredShare(RenewOp& op, StoredLock& lock, StoredShare& share, const Verdict& verdict);
  void ReleaseShare(WriteOp& op);
  bool LeaveShared(WriteOp& op);
  bool HasLiveShare(WriteOp& op, const StoredLock& lock);
  void EndShare(WriteOp& op, StoredDocument& document);
  bool IsSharedByOthers(const SqliteCollection& collection, std::int64_t doc, const Uuid& mine);
  /// The last share goes: nobody holds the document.
  void SetFree(const WriteOp& op, StoredLock& lock) const;
  bool RenewKnown(RenewOp& op);
  bool ReleaseKnown(WriteOp& op);
  std::optional<StoredDocument> FindToWrite(const WriteOp& op);
  void Write(WriteOp& op, StoredDocument& document);
  void Erase(const SqliteCollection& collection, StoredLock& lock);
  void Insert(SaveOp& op);
  void Change(SaveOp& op, StoredLock& lock);

  /// The version has been raised.
  void SetGrant(StoredLock& lock, const GrantRequest& grant);
  void SetSharedGrant(StoredLock& lock, const GrantRequest& grant,
                      std::chrono::milliseconds others_left);
  /// Deletes what the side tables hold of a lock, as it was before, that is exclusive now.
  void DropShared(const SqliteCollection& collection, const StoredLock& before);
  /// Notes the group of a lock that was just granted, if it has one.
  void PutGroup(const SqliteCollection& collection, std::int64_t doc, const GrantRequest& grant);
  void DropGroup(const SqliteCollection& collection, std::int64_t doc);
  std::int64_t SlotFor(bool detached) const noexcept;
  void PutLease(const SqliteCollection& collection, const StoredLock& lock,
                std::chrono::milliseconds ttl);
  /// Runs a statement that writes a body; false when a unique index or the like refused it, which
  /// then is the operation's result.
  bool RunWithBody(StoreOp& op, Statement& statement);
  bool PutDocument(StoreOp& op, const StoredLock& lock, const Body& body);

  void Busy(StoreOp& op, const Verdict& verdict);
  void Busy(StoreOp& op, std::int64_t owner, std::chrono::milliseconds remaining);
  static void Conflict(StoreOp& op, std::int64_t found_version);
  static void Malformed(StoreOp& op, const char* column = nullptr);

  RenewalRowCache& places_;
  std::vector<Notification> notifications_;
};

/// Of rows whose lock columns somebody else wrote. @param column which, or null
std::string MalformedText(const char* column);

}  // namespace doclock::sqlite
