#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "doclock/duration.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/key.h"
#include "doclock/lock_manager.h"
#include "doclock/locking_repository.h"
#include "doclock/transaction.h"

namespace doclock {

/// A transaction that accepts a message met its id in the Inbox: the message was handled before.
/// Nothing was written, and all locks are still held. Acknowledge the message.
class DOCLOCK_EXPORT DuplicateMessageException : public ConflictException {
 public:
  /// Takes the text.
  explicit DuplicateMessageException(const std::string& what);
  ~DuplicateMessageException() override;
};

/// The ids of the messages that were handled, in a collection of their own. An id is stored in the
/// transaction that stores the message's effect, so that each message takes effect once, however
/// often it is delivered and however many processes handle it.
///
/// A cheap handle that keeps its LockManager open. Thread-safe.
class DOCLOCK_EXPORT Inbox {
 public:
  /// Opens the collection. Producers whose ids may be equal need an inbox each.
  /// @throws std::invalid_argument for a bad name; StoreException
  explicit Inbox(LockManager manager, const std::string& collection = "inbox");

  /// Stores the id with the transaction. If it is there already, Commit throws
  /// DuplicateMessageException. Its age counts from this call, not from the Commit.
  /// @throws std::invalid_argument for an empty id; what the verbs of Transaction throw;
  /// StoreException: the store is asked for the time
  void Accept(Transaction& transaction, const Key& id) const;
  /// Was the message handled? Use it to save work: false may have changed by the Commit, which
  /// decides. @throws StoreException
  [[nodiscard]] bool Contains(const Key& id) const;
  /// Deletes the ids that were accepted this long ago, or longer; returns how many. A message that
  /// is delivered again afterwards counts as new, so choose a longer time than the broker may take.
  /// The store's clock tells the age. Several processes may call it at once.
  /// @throws std::invalid_argument for a negative time; LockException kBusy if another program
  /// holds the lock of one of them; StoreException, InDoubtException
  std::int64_t Forget(Duration older_than) const;
  /// Creates, unless it exists, the index by which Forget finds what is old. Affects speed only.
  /// @throws StoreException
  void EnsureIndexes() const;

 private:
  LockManager manager_;
  LockingRepository<nlohmann::json> accepted_;
};

}  // namespace doclock
