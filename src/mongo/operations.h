#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "doclock/store.h"
#include "mongo/server.h"
#include "mongo/stored_lock.h"
#include "mongo/update.h"

namespace doclock::mongo {

/// The operations of store.h, as commands to the server: see docs/mongodb.md for the protocol.
class Operations {
 public:
  Operations(Server& server, std::chrono::milliseconds budget) : server_(server), budget_(budget) {}

  void Execute(StoreOp& op);
  void Execute(AcquireOp& op);
  void Execute(WriteOp& op);
  void Execute(SaveOp& op);
  void Execute(ReadOp& op);
  /// Renewals, all of one collection and one ttl, in two commands at most.
  void Renew(std::span<RenewOp* const> ops);

  /// Takes the lock of the first document that meets `filter`, in the order of `sort`, that is free
  /// or expired. False: there is none, or the operation is settled otherwise.
  bool AcquireFirst(AcquireOp& op, const Doc& filter, const Doc& sort, Key& key);

  /// The lock fields of a document; nothing when it is missing, or `reply` says why not.
  std::optional<StoredLock> Look(const Collection& collection, const Key& key, Reply& reply);

  /// An update of one document. Its `n` says whether something matched.
  void UpdateOne(const Collection& collection, const Doc& filter, const Update& update,
                 Reply& reply);

  /// The command's outcome as the operation's, unless the server did it.
  static bool Settled(StoreOp& op, const Reply& reply);

 private:
  enum class Attempt : std::uint8_t { kSettled, kAgain };
  Attempt TryAcquire(AcquireOp& op);
  bool TakeFree(AcquireOp& op, bool& created);
  bool TakeOver(AcquireOp& op, const StoredLock& seen);
  bool EnsureExists(AcquireOp& op);
  bool Granted(AcquireOp& op, const Reply& reply, bool created, bool took_over);

  void DeleteOne(const Collection& collection, const Doc& filter, Reply& reply);
  void WriteKnown(WriteOp& op);
  void WriteAny(WriteOp& op);
  void NotMine(WriteOp& op);
  void Insert(SaveOp& op);
  bool TryChange(SaveOp& op, const StoredLock* expired);
  void JudgeRenewals(std::span<RenewOp* const> ops);

  void FindAndModify(const Collection& collection, const Doc& filter, const Doc& rest,
                     Reply& reply);
  void Bound(Doc& command) const;
  void Write(Doc& command, Reply& reply);

  Server& server_;
  std::chrono::milliseconds budget_;
};

void Busy(StoreOp& op, const StoredLock& lock);
void Malformed(StoreOp& op);

}  // namespace doclock::mongo
