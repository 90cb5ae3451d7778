#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "doclock/store/store.h"
#include "mongodb/client/server.h"
#include "mongodb/statements/statements.h"
#include "mongodb/statements/stored_lock.h"
#include "mongodb/statements/update.h"

namespace doclock::mongodb {

/// A moment at which documents are read, of one collection after the other. Needs a replica set.
class Moment {
 public:
  void AddTo(Doc& command) const { command.Add("readConcern", concern_); }
  /// The first answer says which moment it is.
  void KeepFrom(const Reply& reply);

 private:
  Doc concern_ = Doc::Of("level", "snapshot");
};

/// The operations of store.h, as commands to the server: see docs/maintaining/mongodb.md.
/// Cheap to make: one for each call of the store.
class Operations {
 public:
  /// With this much time.
  Operations(Server& server, std::chrono::milliseconds budget);
  Operations(Server& server, Pool& pool, Deadline deadline)
      : server_(server), pool_(pool), deadline_(deadline), end_(deadline) {}

  /// The same with less time.
  [[nodiscard]] Operations Within(std::chrono::milliseconds limit) const;
  [[nodiscard]] std::chrono::milliseconds left() const { return Until(deadline_); }

  /// An acquire by itself, in the fewest commands.
  void Execute(AcquireOp& op);
  /// The release of a share, or a write by value: a command that tells the version. Leaves pending
  /// what matched nothing.
  void Execute(WriteOp& op);
  /// An acquire that has got so far: what the last look showed of its document, if anything, and
  /// after how many attempts.
  void Execute(AcquireOp& op, std::optional<StoredLock> seen, int attempts);
  /// Renewals, all of one collection, one ttl and one mode, in one command. If some matched
  /// nothing, a read shows which are lost, and the others are sent again.
  void Renew(std::span<RenewOp* const> ops);
  /// Takes the lock of the first document that meets `filter`, in the order of `sort`, that is free
  /// or expired. Returns true; false if there is none, or the operation is settled otherwise.
  bool AcquireFirst(AcquireOp& op, const Doc& filter, const Doc& sort, Key& key);

  /// A document as it is on the primary.
  struct Shown {
    StoredLock lock;
    const bson_t& doc;  ///< Its lock fields; or the whole document, if the view says so.
    std::int64_t now;   ///< The server's clock, in ms.
  };
  enum class Sees : std::uint8_t {
    kLatest,     ///< What a primary has, which may have been replaced. A later one may not have it.
    kConfirmed,  ///< All that was acknowledged, and nothing that can be lost: a Read's view.
  };
  struct View {
    Sees sees = Sees::kConfirmed;
    bool whole = false;           ///< Whole documents? Those of other libraries always are.
    const Array* mine = nullptr;  ///< Else those whose lock is one of these.
    Moment* moment = nullptr;     ///< Unless null, they are seen at this moment.
  };
  /// Shows several documents of one collection, by their place among `keys`.
  /// @return whether all that are there were shown; else `reply` says why not.
  using Sighted = std::function<void(std::size_t place, Shown&& shown)>;
  bool Look(const Collection& collection, std::span<const Key* const> keys, const View& view,
            const Sighted& visit, Reply& reply);
  /// The lock fields of a document; nothing when it is missing, or `reply` says why not.
  std::optional<StoredLock> Look(const Collection& collection, const Key& key, Sees sees,
                                 Reply& reply);
  /// The same, of the document at which an acquire matched nothing.
  std::optional<StoredLock> LookFor(const AcquireOp& op, Reply& reply);

  /// Returns of each statement of a command that deletes documents whether it was done, or nothing
  /// where that is not known. The server tells only how many were done; where that leaves open
  /// which, this reads the documents.
  /// @param survived whether the document that is shown was not deleted by its statement
  using Survived = std::function<bool(std::size_t place, const Shown& shown)>;
  std::vector<std::optional<bool>> JudgeDeletes(const Collection& collection,
                                                std::span<const Key* const> keys, std::int64_t done,
                                                const View& view, const Survived& survived);

  /// Sends a command that writes, bounded, to a majority.
  void Write(Doc& command, Reply& reply);
  /// Sends a command that reads, bounded.
  void Read(Doc& command, Reply& reply);
  /// Ends a cursor with what did not fit into an answer. Returns true; false if there was no
  /// answer.
  bool Forget(const Collection& collection, std::int64_t cursor);

  /// See Settled below.
  static bool Settled(StoreOp& op, const CommandResult& result);

 private:
  bool TakeFree(AcquireOp& op);
  bool TakeOver(AcquireOp& op, const StoredLock& seen);
  bool EnsureExists(AcquireOp& op);
  bool Granted(AcquireOp& op, const Reply& reply, bool inserted, bool took_over);
  bool GaveUp(AcquireOp& op, const Reply& reply);

  bool TakeTurn(AcquireOp& op);
  bool Enter(AcquireOp& op);
  bool SendTurn(AcquireOp& op, const Doc& statement, const Doc& projection, Reply& reply);
  template <class AnyTurn>
  bool TakeTurn(AcquireOp& op, const AnyTurn& turn);
  bool ReportTurn(AcquireOp& op, const StoredLock& before, const bson_t& doc);
  bool ReadGrant(AcquireOp& op);

  void AcquireShare(AcquireOp& op);
  bool TryShare(AcquireOp& op);
  bool MakeShared(AcquireOp& op);
  bool GrantedShare(AcquireOp& op, const Reply& reply);
  void ReleaseShare(WriteOp& op);
  bool TryReleaseShare(WriteOp& op, ReleaseTo to);

  void RenewAtOnce(std::span<RenewOp* const> ops, std::chrono::milliseconds limit);
  /// Sends one command of renewals. Returns true; false if a document blocks it, and it has others
  /// too.
  using RenewalSender =
      std::function<bool(std::span<RenewOp* const> ops, std::chrono::milliseconds limit)>;
  /// Goes around documents that foreign open transactions have changed: one of them stops the whole
  /// command. It does no harm to renew again what was renewed already.
  void RenewInParts(std::span<RenewOp* const> ops, const RenewalSender& send) const;
  bool RenewByOne(std::span<RenewOp* const> ops, std::chrono::milliseconds limit);
  bool RenewByStatement(std::span<RenewOp* const> ops, std::chrono::milliseconds limit);
  void JudgeRenewals(std::span<RenewOp* const> ops);

  /// Disowns an answer with another document than that of the key.
  /// @param key null: any @param statement of an update or a delete command
  /// @param rest what else findAndModify takes
  void FindAndModify(const Collection& collection, const Key* key, const Doc& statement,
                     const Doc& rest, Reply& reply);
  /// Sends a findAndModify that shows parts of the document, and disowns an answer to another one.
  /// @param fields what is shown @param rest what else findAndModify takes
  void ModifyAndShow(const Collection& collection, const Doc& statement, const Doc& fields,
                     const Doc& rest, Reply& reply);
  /// Sends the findAndModify of a write, and settles it by the version that is shown, and `raise`
  /// more. Returns false if no document matched. @param rest what else findAndModify takes
  bool WriteAndShow(WriteOp& op, const Doc& statement, const Doc& rest, std::int64_t raise);
  /// Connections for what is left of the call: its own, unless they wait much longer.
  [[nodiscard]] Pool& PoolOfNow() const;
  void Bound(Doc& command, const Pool& pool) const;

  Server& server_;
  Pool& pool_;
  Deadline deadline_;
  Deadline end_;  ///< The call's deadline; `deadline_` may be that of a part of it.
};

/// What the server said of a command of a single statement.
inline const CommandResult& Single(const Reply& reply) { return reply.Of(0); }

/// Throws what the store's functions throw if a command failed. @throws StoreException
void Check(const CommandResult& result);

/// Gives an operation or a change the outcome of its statement, unless the server did what was
/// asked, or found the document's key taken. Returns whether it did.
bool Settled(const CommandResult& result, const Collection& collection, OpStatus& status,
             std::unique_ptr<OpDetail>& detail);

/// Busy; the holder is unknown: others were faster each time.
void BusyWithOthers(StoreOp& op);

}  // namespace doclock::mongodb
