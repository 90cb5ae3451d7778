#pragma once

/// @file
/// The port between the engine and a database: Store, and what it tells.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/options.h"
#include "doclock/store/operations.h"

namespace doclock {

/// What a store gives to CommitOp::join.
enum class NativeHandle : std::uint8_t {
  kNone,        ///< Nothing: it takes no such work.
  kSqlite,      ///< A `sqlite3*`.
  kMongodb,     ///< A `MongodbJoin*`.
  kPostgresql,  ///< What `Join` of doclock/stores/postgresql.h makes a `PGconn*` of.
};

/// The properties of a store. Constant over its life, except clock_margin and others_may_wait.
struct StoreTraits {
  /// How many concurrent Execute calls are worthwhile; if it is more than one, one of them is for
  /// renewals alone. Reads (reads_apart), searches, purges and Commit come beside them: a store
  /// with connections needs some more than this.
  int lanes = 1;
  /// The most operations per Execute. Renewals come in batches of up to 1,000 in any case.
  std::size_t max_batch = 128;
  /// Execute never blocks and takes calls from any number of threads: no batching needed.
  bool immediate = false;
  /// An Execute call of reads alone neither waits for writes nor fails with them. The engine then
  /// sends reads by key apart: each one of a blocking caller in a call of its own, on the caller's
  /// thread, and those of asynchronous callers in one call at a time, which takes along what has
  /// queued. (The reads that settle doubt still go with the writes.) Without it reads are batched
  /// with writes.
  bool reads_apart = false;
  /// Other processes may use the same documents.
  bool shared = true;
  /// Might another process be waiting for locks right now? A cheap guess. With it a holder's
  /// process hands a lock over to its own waiters ManagerOptions::max_handovers times in a row at
  /// most.
  bool others_may_wait = true;
  /// The store keeps a queue of waiters for each document (see AcquireOp), and gives a hint to the
  /// process whose waiter was granted a lock from it. The engine leaves entries in a store that has
  /// this and is `shared`. Without it the engine neither leaves entries nor sends a kLeave.
  bool queues = false;
  /// Whether Store::Commit stores several documents together; else it refuses.
  bool transactions = false;
  /// What Store::Commit gives to CommitOp::join.
  NativeHandle native = NativeHandle::kNone;
  /// How much the clocks involved may differ during one lease; a holder gives up this much early.
  std::chrono::nanoseconds clock_margin = std::chrono::milliseconds(1);
};

/// How urgent a Finding is.
enum class FindingLevel : std::uint8_t {
  kOk,       ///< It works.
  kWarning,  ///< It works, and should be looked at.
  kProblem,  ///< Locks or writes fail, or will soon.
};

/// What Store::Examine found when it looked at one thing. All texts are for people. They hold no
/// body, no lock id and no secret of the store's URL.
struct Finding {
  std::string check;                       ///< The name of what was looked at, as "topology".
  FindingLevel level = FindingLevel::kOk;  ///< Its urgency.
  std::string text;                        ///< What was found.
  std::string advice = {};                 ///< What to do; empty with kOk.
};

/// The index that Store::EnsureIndex creates; fields are named as in Filter.
struct IndexSpec {
  std::vector<std::string> fields;  ///< First those compared for equality, then the order.
  /// No two documents may have the same values. A document with a missing or null field conflicts
  /// with none. Numbers are equal by value (1 and 1.0). Equal arrays conflict, and so do equal
  /// objects; arrays without a common element do not. The store chooses whether arrays with a
  /// common element conflict, and whether a path leads into an array: MongoDB compares elements,
  /// the other stores whole arrays. So is it for numbers inside arrays and objects that differ in
  /// form only (`[1]`, `[1.0]`), and for decimals that differ in their digits only (2.5 and 2.50):
  /// SQLite compares their text.
  bool unique = false;
  bool descending = false;  ///< A hint: searches read the last field in descending order.
  /// Create the index that finds held locks, for Purge, instead of one over `fields`. Stores that
  /// need none do nothing.
  bool held_locks = false;
};

/// Returns the same index without the key. Every index of a store ends with the key, and no two
/// documents have the same, so an index over fields and the key is one over the fields that is not
/// unique; without a field it is the index of the keys, which stores have anyway or make.
/// @throws std::invalid_argument for no fields, a bad one, one that is named twice, more than 31
/// besides the key, and a key that is not the last field
DOCLOCK_EXPORT IndexSpec WithoutKey(const IndexSpec& index);

/// What a hint tells of a grant from the queue. It may be late or come twice, so it carries no
/// time: the lease counts from when its waiter last placed its entry.
struct GrantSeen {
  Uuid lock_id{};            ///< The id of the waiter's entry; nil: not known.
  std::int64_t version = 0;  ///< lockVersion after the grant.
  Uuid born{};               ///< The document's incarnation; nil: it has none, or it is not known.
  Body body = {};            ///< After the grant; none: not known.
};

/// A hint that a lock of one collection may have become free, or was granted from its queue; see
/// Store::Watch.
struct LockHint {
  /// Key::Hash of the document's key, which is the same in other processes.
  /// Nothing: any document may be concerned.
  std::optional<std::size_t> hash = {};
  /// The lock was granted from the queue, by a write that was acknowledged and cannot be lost any
  /// more. Nothing: it may have become free, or been granted.
  std::optional<GrantSeen> grant = {};
};

/// See Store::Watch.
using HintListener = std::function<void(const LockHint&)>;

/// Selects the locks that Store::ListLocks shows.
struct LockQuery {
  std::optional<Key> key = std::nullopt;  ///< Only this document.
  std::string group = {};                 ///< Only locks of this group; empty: all locks.
  bool unheld = false;                    ///< Also documents that are not locked (nil `lock_id`).
};

/// A lock as Store::ListLocks shows it. A shared lock has one row for each share.
struct LockRow {
  Key key;                               ///< The document's key.
  Uuid lock_id{};                        ///< Nil: not locked. A share's own id.
  LockMode mode = LockMode::kExclusive;  ///< How it is held.
  bool live = false;                     ///< Held, and its lease is not over.
  bool closed = false;                   ///< min_hold keeps all clients out.
  bool malformed = false;    ///< Its fields are not what this library writes; live is true.
  bool has_body = false;     ///< Does the document hold anything besides its lock?
  std::int64_t version = 0;  ///< The document's version.
  /// The fence of a held lock: the document's version at this grant, each share's own. Empty if the
  /// store does not know it.
  std::optional<std::int64_t> fence;
  Uuid born{};                       ///< The document's incarnation.
  LockHolder holder;                 ///< The holder of a held lock.
  std::string group;                 ///< The group of a held lock.
  std::chrono::milliseconds ttl{};   ///< Length of its lease.
  std::chrono::milliseconds left{};  ///< What is left of a live lock's lease.
  /// If held: the time since the grant (or the last checkpoint; on MongoDB the last renewal). If
  /// not held: how long it has been free, at least. A store that does not record releases counts
  /// from the end of the last lease. A purge leaves it. Zero: it was never held, or nothing is
  /// known.
  std::chrono::milliseconds age{};
  int waiting = 0;  ///< Live entries of the document's queue (see AcquireOp).
  LockHolder next;  ///< The owner of the first of them; empty if there is none.
  /// If malformed: which field is not what which library writes, for messages; empty: not known.
  std::string why_malformed;
};

/// Some locks, and the position of the rest.
struct LockPage {
  std::vector<LockRow> rows;  ///< In no particular order.
  std::string next;           ///< Pass it as `after`; empty: there are no more.
};

/// One document of a query.
struct QueryRow {
  Key key;                   ///< Its key.
  Body body;                 ///< Its body.
  std::int64_t version = 0;  ///< Its version.
  Uuid born{};               ///< Its incarnation.
  bool locked = false;       ///< A live lock?
  int left_out = 0;          ///< Stored members that no body can have; they stay.
};

/// A subscription. Its destructor ends it: no hint runs or comes afterwards.
class DOCLOCK_EXPORT Subscription {
 public:
  Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  virtual ~Subscription();
};

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
