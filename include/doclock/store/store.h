#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/key.h"
#include "doclock/options.h"
#include "doclock/store/collection.h"
#include "doclock/store/commit_op.h"
#include "doclock/store/finding.h"
#include "doclock/store/index.h"
#include "doclock/store/lock_hint.h"
#include "doclock/store/locks.h"
#include "doclock/store/operations.h"
#include "doclock/store/query.h"
#include "doclock/store/subscription.h"
#include "doclock/store/traits.h"

/// @file
/// The port between the engine and a database. Users open a store and pass it to a LockManager. To
/// add a database, implement Store and run the conformance suite against it.

namespace doclock {

/// A database, as the engine sees it: semantic, blocking, thread-safe, batch-first. It knows
/// neither waiting, threads nor T.
///
/// Execute does not throw because an operation fails: that is the operation's result. The other
/// functions throw Error.
class DOCLOCK_EXPORT Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store();

  /// Returns the store's properties.
  [[nodiscard]] virtual StoreTraits traits() const noexcept = 0;

  /// Opens a collection, and creates it on first use. The same name gives the same object. Other
  /// field names or another ttl for a name that is already open are std::invalid_argument.
  /// @throws std::invalid_argument for a bad name: 1 to 64 characters of [A-Za-z0-9_.-], not
  /// starting with '.' or '-'. @throws StoreException
  virtual std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                           std::chrono::milliseconds default_ttl) = 0;

  /// Returns an open collection by its name, or null.
  [[nodiscard]] virtual std::shared_ptr<Collection> Find(const std::string& name) const = 0;

  /// Executes a batch of operations on different documents, in any order, each with its own
  /// result. (A batch may hold many renewals of one document's shares, each of another share.)
  /// Returns within about `budget`: what was not sent by then is kFailed (kUnavailable), what was
  /// sent and not answered is in doubt. Never throws because an operation fails. If it throws all
  /// the same (out of memory), what is still kPending is in doubt (a read: kUnavailable). So no
  /// operation may be kDone that is not stored, and one that was refused keeps its status.
  virtual void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) = 0;

  /// Stores several documents together, or none of them; see CommitOp. Returns within about
  /// `budget`, and never throws because an operation fails. If it throws all the same (out of
  /// memory), the outcome is in doubt. The default refuses: StoreTraits::transactions is false.
  virtual void Commit(CommitOp& commit, std::chrono::milliseconds budget);

  /// Reads documents of any collections (each operation is a ReadOp) as they were at one moment.
  /// Each has its own result. Returns within about `budget`, and never throws because an operation
  /// fails. The default refuses.
  virtual void ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds budget);

  /// Shows the documents that match to `sink`, in the filter's order and behind its position
  /// (Filter::after), until it returns false or the limit is reached. The engine asks for one page
  /// after the other, so a position is found without reading all that is before it where an index
  /// gives the order. One call shows what was there at one moment, if the database can. What is
  /// kept in memory does not grow with the bodies of the collection. The sink may not call the
  /// store.
  virtual void Query(Collection& collection, const Filter& filter,
                     const std::function<bool(QueryRow&&)>& sink,
                     std::chrono::milliseconds budget) = 0;

  /// Takes the lock of the first free document that matches, in the filter's order, exclusively (a
  /// share is kRefused, as are the requests that StoreOp names). kMissing: none is free. Live locks
  /// and malformed ones are skipped, and documents whose queue has a live entry (see AcquireOp).
  /// `op.key` is ignored as a request. It points at `key` once a document is chosen, which is
  /// before anything is written, so that a lock in doubt can be released. A store that cannot know
  /// the document before it writes leaves `op.key` alone in doubt: a lock that was taken then ends
  /// with its lease.
  virtual void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                           std::chrono::milliseconds budget) = 0;

  /// Returns the time of day by the store's clock, which tells what is due (Filter::Due). The
  /// default is that of this machine. @throws StoreException
  [[nodiscard]] virtual std::chrono::system_clock::time_point WallTime(
      std::chrono::milliseconds budget);

  /// Creates an index unless it exists. Only a unique index affects correctness. A spec may name
  /// the key as its last field, see WithoutKey. @throws std::invalid_argument, ConflictException
  virtual void EnsureIndex(Collection& collection, const IndexSpec& index) = 0;

  /// Clears the lock fields of expired locks, at most `limit` per call; never those of a live lock,
  /// and never the version. Returns how many it cleared.
  virtual std::int64_t Purge(Collection& collection, std::int64_t limit,
                             std::chrono::milliseconds budget) = 0;

  /// Calls `listener` when a lock of this collection may have become free or been granted from its
  /// queue, or a free document may have been inserted or saved. Hints may be missing, late, double
  /// or spurious, but what one tells of a grant is true. The store calls `listener` on any
  /// thread, that of a write of this process too; it must return soon and must not call the store.
  /// What it throws is dropped. Returns null if this store has no hints.
  virtual std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) = 0;

  /// Returns locks, page by page: `after` is empty at first, then `next` of the last page. A lock
  /// that exists all the time is shown; one that comes or goes meanwhile may be shown. A page may
  /// be empty although it is not the last.
  /// @throws StoreException (kRefused from a store that cannot list: the default)
  [[nodiscard]] virtual LockPage ListLocks(Collection& collection, const LockQuery& query,
                                           const std::string& after,
                                           std::chrono::milliseconds budget);

  /// Returns the names of the collections that Open can open without creating them, in any order. A
  /// store on a server also names collections that hold no lock yet.
  /// @throws StoreException (kRefused from a store that cannot list: the default)
  [[nodiscard]] virtual std::vector<std::string> ListCollections(std::chrono::milliseconds budget);

  /// Examines the database for an operator, and returns one finding for each thing it looked at. It
  /// only reads, and takes no lock. `collection` may be missing in the store, or not open; or null.
  /// What cannot be read is a finding too. The default looks at nothing.
  /// @throws StoreException, LockException (kForked)
  [[nodiscard]] virtual std::vector<Finding> Examine(Collection* collection,
                                                     std::chrono::milliseconds budget);
};

}  // namespace doclock
