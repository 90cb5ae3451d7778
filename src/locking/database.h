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

#include "doclock/body.h"
#include "doclock/clock.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/key.h"
#include "doclock/store/collection.h"
#include "doclock/store/finding.h"
#include "doclock/store/index.h"
#include "doclock/store/lock_hint.h"
#include "doclock/store/locks.h"
#include "doclock/store/operation.h"
#include "doclock/store/operations.h"
#include "doclock/store/query.h"
#include "doclock/store/raced.h"
#include "doclock/store/subscription.h"
#include "doclock/store/traits.h"
#include "rules/lock_state.h"
#include "rules/plain.h"

/// @file
/// The port below the rules: what the program in src/locking needs of a database. It loads
/// documents, decides by src/rules, and commits what it decided, in one atomic step.

namespace doclock::locking {

/// When a unit has to be through. On the ordinary steady clock, not that of the leases.
using Deadline = std::chrono::steady_clock::time_point;

/// What is told if a document stayed kept.
inline constexpr const char* kKeptText = "doclock: another client's transaction keeps the document";

/// What is stored of one document.
struct Entry {
  rules::LockState lock;
  Body body;
};

/// Whom a change concerns besides the client that made it. A database tells them once the change is
/// committed, and never of one that may not be stored.
enum class Notice : std::uint8_t {
  kNobody,
  /// The lock became free, or was granted to the first of its queue (LockState::passed_on). Or a
  /// free document was inserted or saved, for which a search may wait.
  kWaiters,
};

/// A document that one unit looks at, and what becomes of it. A unit has each document once.
struct Change {
  Change(Collection& c, OpKey k) noexcept : collection(&c), key(k.key), hash(k.hash) {}
  /// Of the document that an operation names.
  explicit Change(const StoreOp& op) noexcept
      : collection(op.collection),
        key(op.key),
        hash(op.hash),
        lock_only(NeedsNoBody(op)),
        acquires(op.kind == OpKind::kAcquire),
        expected(ExpectedBy(op)) {}

  Collection* collection;
  const Key* key;
  std::size_t hash;
  /// Asked: one operation alone decides, and what it decides is committed or fails as a whole.
  bool alone = false;
  /// Asked, of one alone: until when the database may wait for the document while another client's
  /// transaction holds it. All else should have the unit's deadline.
  Deadline patience = Deadline::max();
  /// Asked: nothing looks at the body, so `was` may lack it.
  bool lock_only = false;
  bool acquires = false;                ///< Asked: for an attempt to take the lock.
  std::int64_t expected = kAnyVersion;  ///< Asked: the version that a writer under the lock knows.

  /// Loaded: the document as it stands; null: there is none, or it is malformed. It stays where it
  /// is until the unit commits, loads again, scans or is destroyed.
  const Entry* was = nullptr;
  /// Loaded: there is a document, and its lock is not what this library writes.
  bool malformed = false;
  const char* bad_part = nullptr;  ///< Loaded, of a malformed one: which part is, if known.
  /// Loaded, one of several, or committed: another client's transaction holds it, and the unit does
  /// not wait. The program leaves the operation kept, or lets it fail.
  bool blocked = false;
  /// Committed, one of several: another client was quicker, and it is not stored. The program
  /// leaves it to a unit of its own.
  bool raced = false;

  /// Decided: the document from now on; nothing: it stays as it is.
  std::optional<Entry> now = std::nullopt;
  /// Decided: the body that the writer knew, if it tells: for databases that store differences, and
  /// leave to other programs what the writer has not changed. It is the operation's.
  const Body* base = nullptr;
  bool erased = false;              ///< Decided: the document goes.
  Notice notice = Notice::kNobody;  ///< Decided.
  /// Decided, with Notice::kWaiters: the grant to the first of the queue, if there was one.
  std::optional<GrantSeen> grant = std::nullopt;
  OpStatus outcome = OpStatus::kPending;       ///< Committed: kDone, kConflict, kFailed, kInDoubt.
  std::unique_ptr<OpDetail> detail = nullptr;  ///< Committed; of all but kDone.

  /// What to tell the waiters of this process, once it is committed.
  [[nodiscard]] LockHint Hint() const { return {hash, grant}; }
  /// Committed: this unique index has refused it. @param index its fields
  DOCLOCK_EXPORT void RefuseBy(std::string index);
  /// Committed: `result` is kFailed or kInDoubt.
  DOCLOCK_EXPORT void Fail(OpStatus result, Errc code, std::string text);
  [[nodiscard]] bool IsDecided() const noexcept { return erased || now.has_value(); }
  /// Returns `now`, to be edited: at first a copy of the loaded entry, or an empty one.
  DOCLOCK_EXPORT Entry& Edit();

 private:
  static bool NeedsNoBody(const StoreOp& op) noexcept {
    if (op.kind != OpKind::kWrite) return op.kind == OpKind::kRenew;
    const auto& write = static_cast<const WriteOp&>(op);
    return !write.merge && (!write.body || write.base);
  }
  static std::int64_t ExpectedBy(const StoreOp& op) noexcept {
    return op.kind == OpKind::kWrite ? static_cast<const WriteOp&>(op).expected : kAnyVersion;
  }
};

/// A document that a scan of locks shows.
struct Candidate {
  Key key;
  rules::LockState lock;
  bool has_body = false;  ///< Does it hold anything besides its lock?
  /// Its lock is not what this library writes; of `lock` the group counts.
  bool malformed = false;
  std::string why_malformed = {};  ///< See LockRow.
};

/// The text of kMalformed.
[[nodiscard]] inline std::string MalformedText(const Change& document) {
  std::string text = "the lock of the document is not what this library writes";
  if (document.bad_part != nullptr) text += std::string(" (") + document.bad_part + ")";
  return text;
}

/// What a unit is for.
enum class Access : std::uint8_t {
  kRead,
  kWrite,     ///< Each change is stored or refused by itself.
  kBriefly,   ///< As kWrite, but it waits for no other client longer than a moment.
  kRenew,     ///< As kBriefly, of renewals: they come again, and others are due meanwhile.
  kWriteAll,  ///< All changes are stored, or none. Only with StoreTraits::transactions.
};

/// The program runs the unit again, several documents then each in a unit of its own.
using Raced = RacedException;

/// Another client's transaction kept the unit's only document, or a collection, for longer than the
/// unit was to wait. Nothing is stored.
class DOCLOCK_EXPORT Kept : public StoreException {
 public:
  Kept() : StoreException(Errc::kUnavailable, kKeptText) {}
  ~Kept() override;
};

/// One atomic step on any number of documents. It sees everything that was committed before it
/// began. What Load showed of a document stays so until Commit: the database keeps other writers
/// away, or Commit notices them (Raced). If a unit is destroyed without Commit, nothing has
/// changed. Used by one thread. Its functions throw Error; after InDoubtException the changes may
/// be stored, after any other Error none of them is.
class DOCLOCK_EXPORT Unit {
 public:
  Unit() = default;
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  virtual ~Unit();

  /// The time by which leases end. Asked after Load, and the same for the whole unit.
  virtual TimePoint Now() = 0;
  /// The time of day by the database's clock, for Filter::Due. Nothing: Scan takes Due as it is,
  /// and the database compares.
  virtual std::optional<std::chrono::system_clock::time_point> WallTime() { return std::nullopt; }
  /// What the entries of this store's waiters carry (rules::QueueEntry::instance).
  [[nodiscard]] virtual std::int64_t instance() const noexcept { return 0; }
  /// The least version that a new document may have (LockState::floor).
  [[nodiscard]] virtual std::int64_t floor() const noexcept { return 0; }
  /// Refuses a body that the database cannot hold. @throws DocumentException naming the member
  virtual void CheckBody(const Body&) const {}
  /// Fills in the documents' loaded parts. What an earlier call loaded is given up by a further
  /// one, and by a scan: it may change from then on. So nothing is decided yet when they are
  /// called. With kWriteAll it waits for documents that other clients keep, in this order, which is
  /// the same for all clients. @throws Raced if it would wait, and too many units do
  virtual void Load(std::span<Change> documents) = 0;
  /// Asked before Load: it shall show all documents as they were at one moment. For databases that
  /// do so anyway, this does nothing. @throws Error if the database cannot
  virtual void SeeOneMoment() {}
  /// Shows the documents of a collection that meet the filter, in its order, until `visit` returns
  /// false or the filter's limit is reached. `visit` does not use the unit. Elsewhere the documents
  /// may have changed when they are loaded. In a unit that writes, a body may lack members that the
  /// filter does not name.
  virtual void Scan(Collection& collection, const Filter& filter,
                    const std::function<bool(QueryRow&&)>& visit) = 0;
  /// Shows the documents, in any order, that may have a lock, or all if `query` asks for those that
  /// have none too, until `visit` returns false, or about a page is shown. Returns what to pass as
  /// `after` to see more; empty: there are no more, or it does not show them in pages.
  virtual std::string ScanLocks(Collection& collection, const LockQuery& query,
                                const std::string& after,
                                const std::function<bool(Candidate&&)>& visit) = 0;
  /// The same of the locks whose leases are over. It may show others too.
  virtual std::string ScanOver(Collection& collection, const std::string& after,
                               const std::function<bool(Candidate&&)>& visit) {
    return ScanLocks(collection, {}, after, visit);
  }
  /// Stores the decided changes, and settles each: one that a unique index refuses is kConflict,
  /// and leaves the others alone. Then tells those whom they concern. Not called if nothing is
  /// decided. With kWriteAll all changes are decided, and are made in
  /// this order; if one is refused, nothing is stored, and only that one has an outcome.
  virtual void Commit(std::span<Change> changes) = 0;
  /// With kWriteAll: the handle that StoreTraits::native names, for work in the same transaction.
  /// It is called behind Load.
  [[nodiscard]] virtual void* Native() { return nullptr; }
  /// After an Error, before which Commit stored nothing: may one operation of several have caused
  /// it? Then each of them is tried in a unit of its own.
  [[nodiscard]] virtual bool IsSpoilt() const noexcept { return false; }
};

/// May a forked child use what its parent has opened?
enum class InChild : std::uint8_t {
  kUsable,
  kRefused,  ///< No: connections and threads are the parent's.
};

/// A database, as src/locking needs it. Thread-safe. Its functions throw Error.
class DOCLOCK_EXPORT Database {
 public:
  explicit Database(InChild in_child = InChild::kUsable) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database();

  /// Is this a child that may not use it? LockingStore calls nothing then but traits(). The child
  /// does not destroy what is the parent's either.
  [[nodiscard]] bool IsForked() const noexcept;
  /// Called in the handler of an Error that leaves the store: throws it as a caller is to see it.
  /// Returns if that is how it is.
  virtual void ThrowForCaller() const {}
  /// Its properties. `queues` says whether waiters of other processes are told of their turn.
  [[nodiscard]] virtual StoreTraits traits() const noexcept = 0;
  /// Opens a collection, and creates it on first use. Called once for each name.
  virtual std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                           std::chrono::milliseconds default_ttl) = 0;
  /// @throws Error if the unit cannot begin by the deadline, which covers its Commit too.
  virtual std::unique_ptr<Unit> Begin(Access access, Deadline deadline) = 0;
  /// Whether RunPlain can carry out operations of this kind. For databases where a unit costs more
  /// round trips.
  [[nodiscard]] virtual bool CanRun(rules::Plain) const noexcept { return false; }
  /// Carries out operations of such kinds without a unit, each as the rules would, and stores them.
  /// Leaves those pending, with nothing changed, whose documents have to be loaded. One document
  /// occurs once among them, but for renewals. @param alone is there no other operation in the
  /// call, of any kind?
  /// @throws Error if nothing was stored
  virtual void RunPlain(std::span<const rules::PlainOp>, bool /*alone*/, Deadline) {}
  /// See Store.
  virtual std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) = 0;
  /// See Store.
  virtual void EnsureIndex(Collection& collection, const IndexSpec& index) = 0;
  /// See Store. Nothing: it cannot list them.
  [[nodiscard]] virtual std::optional<std::vector<std::string>> ListCollections(Deadline) {
    return std::nullopt;
  }
  /// See Store.
  [[nodiscard]] virtual std::vector<Finding> Examine(Collection*, Deadline) { return {}; }

 private:
  const InChild in_child_;
  const std::uint32_t generation_;
};

}  // namespace doclock::locking
