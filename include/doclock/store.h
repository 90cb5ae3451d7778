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
#include "doclock/lock_options.h"
#include "doclock/options.h"
#include "doclock/uuid.h"

/// @file
/// The port between the engine and a database. Users open a store and hand it to a LockManager;
/// those who add a database implement Store and run the conformance suite against it.

namespace doclock {

/// A collection as its store knows it. Made by Store::Open; lives as long as its store.
class DOCLOCK_EXPORT Collection {
 public:
  /// For stores. The name has been checked.
  Collection(std::string name, LockFieldNames fields, std::chrono::milliseconds default_ttl);
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;
  virtual ~Collection();
  /// Its name.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// What the lock's fields are called.
  [[nodiscard]] const LockFieldNames& fields() const noexcept { return fields_; }
  /// The lease of stored locks that name none.
  [[nodiscard]] std::chrono::milliseconds default_ttl() const noexcept { return default_ttl_; }

 private:
  std::string name_;
  LockFieldNames fields_;
  std::chrono::milliseconds default_ttl_;
};

/// How an operation ended.
enum class OpStatus : std::uint8_t {
  kPending,   ///< Not executed; a store never leaves this.
  kDone,      ///< Granted, renewed, written, found.
  kBusy,      ///< A live lock of somebody else (detail: holder, remaining).
  kMissing,   ///< No such document.
  kConflict,  ///< Another version, an existing document, or a unique index (detail).
  kLost,      ///< The lock named in the request does not hold the document.
  kFailed,    ///< The store failed and nothing was written (detail: code, message).
  kInDoubt,   ///< The write may or may not have happened (detail: message).
};

/// What is worth telling when an operation did not end in kDone.
struct OpDetail {
  Errc code = Errc::kUnavailable;  ///< With kFailed: which.
  std::string message;  ///< Why: of kFailed, kInDoubt, and of kBusy where only min_hold is.
  LockHolder holder;    ///< With kBusy: who, where known.
  /// With kBusy: until what was asked for could be had, unless a lease is renewed or released
  /// before. An acquire waits for the lease in its way and for min_hold, so for the longer of the
  /// two; a save waits for the lease only.
  std::optional<std::chrono::milliseconds> remaining;
  std::optional<std::int64_t> found_version;  ///< With kConflict: the stored version.
  std::string index;                          ///< With kConflict: the index that refused.
};

/// Which operation a StoreOp is.
enum class OpKind : std::uint8_t { kAcquire, kRenew, kWrite, kSave, kRead };

/// One operation on one document; the base of the five kinds below. The caller fills in the
/// request, the store the result. `collection` and `key` must outlive the call.
///
/// Every store refuses the same requests, as kFailed (kRefused), whatever is stored:
/// - a grant under a nil lock id or under kSharedLockId; a limit that is not 1 to kMaxHolders;
/// - a share that is asked to write more than a note (see WriteOp::mode);
/// - a hand-over to a share, or under the id of the lock that is released; a `next` with anything
///   but a kRelease;
/// - a kInsert without a body; a kReplace of kAnyVersion.
/// The engine has checked every body with CheckBody. A store checks again only that all text in it
/// is valid UTF-8: otherwise the operation is kFailed (kDocument), and nothing is written.
///
/// Lock fields that hold what this library never writes are malformed. Every operation on such a
/// document is kFailed (kMalformed), and nothing is written; but where the stored id and version
/// are whole, a holder that knows both can release it, and in some stores save and erase it too.
struct StoreOp {
  OpKind kind;                           ///< Which derived type this is.
  OpStatus status = OpStatus::kPending;  ///< Result.
  Collection* collection;                ///< Where; opened by the same store.
  const Key* key;                        ///< Which document.
  std::size_t hash;                      ///< key->Hash().
  /// Request: sent before, and in doubt since: what shows it to be done may be of then. (A hint for
  /// stores that look at what they have done.)
  bool again = false;
  std::unique_ptr<OpDetail> detail;  ///< Result; may stay null.

  /// Sets a failure.
  void Fail(Errc code, std::string message) {
    status = OpStatus::kFailed;
    detail = std::make_unique<OpDetail>();
    detail->code = code;
    detail->message = std::move(message);
  }
  /// Sets kInDoubt.
  void Doubt(std::string message) {
    status = OpStatus::kInDoubt;
    detail = std::make_unique<OpDetail>();
    detail->code = Errc::kInDoubt;
    detail->message = std::move(message);
  }

 protected:
  /// For the derived types.
  StoreOp(OpKind k, Collection& c, const Key& document) noexcept
      : kind(k), collection(&c), key(&document), hash(document.Hash()) {}
  /// With the key's hash, where it is known already.
  StoreOp(OpKind k, Collection& c, const Key& document, std::size_t key_hash) noexcept
      : kind(k), collection(&c), key(&document), hash(key_hash) {}
  ~StoreOp() = default;
  StoreOp(StoreOp&&) = default;
  StoreOp& operator=(StoreOp&&) = default;
};

/// Shared, immutable: who takes a lock.
using OwnerPtr = std::shared_ptr<const LockHolder>;

/// What a document shows as the lock id while shares are held. Each share has an id of its own.
/// Nobody holds a lock by it: acquiring with it is kRefused, renewing or writing by it is kLost.
inline const Uuid kSharedLockId = {{0x64, 0x6f, 0x63, 0x6c, 0x6f, 0x63, 0x4b, 0x00, 0x80, 0x00,
                                    0x73, 0x68, 0x61, 0x72, 0x65, 0x64}};

/// A lock to be granted: the request half of an acquire and of a hand-over.
struct GrantRequest {
  Uuid lock_id{};                   ///< Fresh per attempt; never nil.
  std::chrono::milliseconds ttl{};  ///< Length of the lease.
  OwnerPtr owner = nullptr;         ///< For people; may be null.
  /// For so long after this grant, by the store's clock, nobody is granted this lock, released or
  /// not, holder alive or not. Kept beside the lock; a release leaves it. A hand-over may be
  /// granted meanwhile; it can prolong this time, and never shortens it.
  std::chrono::milliseconds min_hold{};
  /// The lease alone decides, even if this process dies: for locks that outlive their handle
  /// (stores without a way to see a dead process ignore it).
  bool detached = false;
  std::string group = {};                ///< LockOptions::group; kept beside the lock.
  LockMode mode = LockMode::kExclusive;  ///< See the table at AcquireOp.
  int max_holders = kMaxHolders;         ///< With kShared: this grant's limit.
  /// With kExclusive: if shares stand in the way, leave an intent of this id that keeps new shares
  /// out for `intent` from now; asking again renews it. The same for all attempts of one waiter.
  /// Nil: none.
  Uuid intent_id{};
  std::chrono::milliseconds intent{};  ///< See intent_id.
};

/// Who is granted what. A share is a lease of its own: one whose time is over counts for nothing
/// and is dropped by a later write of the lock. An intent is a lease too, of a writer who waits.
///
/// | stored                        | exclusive asked          | share asked, limit n       |
/// |-------------------------------|--------------------------|----------------------------|
/// | free                          | granted                  | granted                    |
/// | free, intent of another       | granted                  | busy until the intent ends |
/// | exclusive, live               | busy                     | busy                       |
/// | exclusive, lease over         | taken over               | taken over                 |
/// | fewer than n live shares      | busy, intent left        | granted                    |
/// | the same, intent of a writer  | busy; intent renewed by  | busy until the intent ends |
/// |                               | its owner only           |                            |
/// | n live shares or more         | busy, intent left        | busy until a share ends    |
/// | all shares over               | taken over               | as free                    |
///
/// An exclusive grant ends any intent, and so does an erasure. Whatever else ends the shares (a
/// release, a save, a break, a purge, Intervention::kExpire) leaves it: it lapses by itself.
/// Every grant, of a share too, raises the version. Shares do not write what they locked: they
/// may be renewed and released, not checkpointed, erased or handed over. min_hold (lockClosed)
/// shuts out everybody. A share that could be granted is kFailed (kRefused) if a live share of this
/// document has its id already.
///
/// Busy tells what is left of the latest share to one who asks exclusively; of the share that ends
/// first, or (where there is room for one more) of the intent, to one who asks for a share; and
/// what is left of min_hold if that is longer.
///
/// Take the lock. kDone (granted), kBusy, kMissing (and no `insert`), kConflict (a unique index
/// refused the insert), kFailed (kMalformed: nothing was granted), kInDoubt.
struct AcquireOp : StoreOp {
  /// For one document.
  AcquireOp(Collection& c, const Key& k) noexcept : StoreOp(OpKind::kAcquire, c, k) {}
  GrantRequest grant;  ///< Request.
  Body insert;         ///< Request: the body of a missing document; none: it must exist.

  std::int64_t version = 0;  ///< Result: lockVersion after the grant; the fence.
  /// Result: the document's incarnation; `grant.lock_id` of a document that this call made, so that
  /// a caller whose reply was lost can tell.
  Uuid born{};
  Body body;               ///< Result: the stored body (`insert` itself when created).
  bool created = false;    ///< Result: the document was made by this call.
  bool took_over = false;  ///< Result: an expired or dead holder's lock was taken.
};

/// Make the lease start anew, by the store's clock; never end sooner than it would have without, so
/// that renewals of different lengths may arrive in any order. kDone, kLost (not held by lock_id,
/// or expired: a renewal never revives), kMissing, kFailed, kInDoubt.
struct RenewOp : StoreOp {
  /// For one document.
  RenewOp(Collection& c, const Key& k) noexcept : StoreOp(OpKind::kRenew, c, k) {}
  /// With the key's hash, where it is known already.
  RenewOp(Collection& c, const Key& k, std::size_t key_hash) noexcept
      : StoreOp(OpKind::kRenew, c, k, key_hash) {}
  Uuid lock_id{};                   ///< Request.
  std::chrono::milliseconds ttl{};  ///< Request.
  bool detached = false;            ///< Request: see GrantRequest.
  /// Request: whose life the lock hangs on stays as it is. For those who are not the holder, and
  /// for a holder's renewal that may arrive behind its own Detach.
  bool foreign = false;
  LockMode mode = LockMode::kExclusive;  ///< Request: what `lock_id` was granted as.
};

/// What a WriteOp does.
enum class WriteKind : std::uint8_t {
  kCheckpoint,  ///< Write the body and start the lease anew; keep the lock.
  kRelease,     ///< Write the body (if any) and clear the lock.
  kErase,       ///< Delete document and lock.
};

/// Version of a WriteOp that the writer does not know (a release by value).
inline constexpr std::int64_t kAnyVersion = -1;

/// Write under the lock. Matches on lock_id and version, never on time. kDone, kLost, kMissing,
/// kConflict (a unique index), kFailed (nothing written, still locked), kInDoubt.
struct WriteOp : StoreOp {
  /// For one document.
  WriteOp(Collection& c, const Key& k) noexcept : StoreOp(OpKind::kWrite, c, k) {}
  /// With the key's hash, where it is known already.
  WriteOp(Collection& c, const Key& k, std::size_t key_hash) noexcept
      : StoreOp(OpKind::kWrite, c, k, key_hash) {}
  WriteKind write = WriteKind::kRelease;  ///< Request.
  Uuid lock_id{};                         ///< Request.
  std::int64_t expected = kAnyVersion;    ///< Request: the version last known.
  Uuid born{};                            ///< Request: the incarnation; nil: unknown. (A hint.)
  Body body;                              ///< Request: the new body; none: untouched.
  Body base;           ///< Request: the body last known, for stores that send differences.
  bool merge = false;  ///< Request: `body` holds some fields; the rest stays.
  std::chrono::milliseconds ttl{};  ///< Request: kCheckpoint's new lease.
  bool renewed = true;  ///< Request: may the lock have been renewed? (a hint for stores)
  const GrantRequest* next = nullptr;  ///< Request: kRelease hands over to this grant, exclusively.
  /// Request: what a kRelease, with `next` or without, leaves in lockReleased; nil: lock_id. For
  /// those who are not the holder's handle: it must not take their release for its own.
  Uuid mark{};
  /// Request: what `lock_id` was granted as. A share knows only kRelease, with no `expected` or
  /// `next` (else kFailed, kRefused): its entry goes, the other shares stay, the last one frees
  /// the lock. The version stays as it is, for nothing was written; unless there is a `body` to
  /// `merge`, the note of somebody who ends another's share. kLost: there is no such share, or its
  /// lease is over.
  LockMode mode = LockMode::kExclusive;

  std::int64_t version = 0;  ///< Result: after the write.
};

/// What a SaveOp does.
enum class SaveKind : std::uint8_t {
  kInsert,   ///< The document must not exist; `body` must.
  kReplace,  ///< The document must be at `expected` of `born`, and `expected` be a version.
  kErase,    ///< Delete; at `expected` of `born` unless that is kAnyVersion.
};

/// Write without holding the lock. A live lock is kBusy; an expired or dead one is cleared in the
/// same write, which ends its holder's right to write. kDone, kBusy, kMissing, kConflict, kFailed,
/// kInDoubt.
struct SaveOp : StoreOp {
  /// For one document.
  SaveOp(Collection& c, const Key& k) noexcept : StoreOp(OpKind::kSave, c, k) {}
  SaveKind save = SaveKind::kReplace;   ///< Request.
  std::int64_t expected = kAnyVersion;  ///< Request.
  Uuid born{};                          ///< Request for kReplace and kErase; result of kInsert.
  Uuid write_id{};  ///< Request: fresh; kept in lockReleased, so that doubt can be settled.
  Body body;        ///< Request: the new body; none (kReplace): untouched.
  Body base;        ///< Request: the body last known, for stores that send differences.

  std::int64_t version = 0;  ///< Result: after the write.
};

/// Look. kDone, kMissing, kFailed. Sees everything acknowledged before it was sent (linearizable).
struct ReadOp : StoreOp {
  /// For one document.
  ReadOp(Collection& c, const Key& k) noexcept : StoreOp(OpKind::kRead, c, k) {}
  /// With the key's hash, where it is known already.
  ReadOp(Collection& c, const Key& k, std::size_t key_hash) noexcept
      : StoreOp(OpKind::kRead, c, k, key_hash) {}

  Body body;  ///< Result.
  std::int64_t version =
      0;           ///< Result: 0 for documents never locked or saved through this library.
  Uuid born{};     ///< Result.
  Uuid lock_id{};  ///< Result: nil when nobody holds it (an expired id is still shown);
                   ///< kSharedLockId while it is shared.
  /// Result: lock or write id of the last finished release, save or break. Of shares, the last one
  /// leaves its id there; whether the others do is the store's own choice.
  Uuid released{};
  bool locked = false;                    ///< Result: a live lock?
  LockHolder holder;                      ///< Result: of a lock.
  std::chrono::milliseconds remaining{};  ///< Result: of a live lock.
};

/// One document of a query.
struct QueryRow {
  Key key;                   ///< Which.
  Body body;                 ///< Its body.
  std::int64_t version = 0;  ///< Its version.
  Uuid born{};               ///< Its incarnation.
  bool locked = false;       ///< A live lock?
};

/// Which locks Store::ListLocks shows.
struct LockQuery {
  std::optional<Key> key = std::nullopt;  ///< Only this document.
  std::string group = {};                 ///< Only locks of this group; empty: of any and of none.
  bool unheld = false;                    ///< Documents that nobody holds too (`lock_id` is nil).
};

/// A lock as Store::ListLocks shows it: one row for each share of a shared lock.
struct LockRow {
  Key key;                               ///< Of which document.
  Uuid lock_id{};                        ///< Nil when nobody holds it; the share's own.
  LockMode mode = LockMode::kExclusive;  ///< How it is held.
  bool live = false;                     ///< Held, and its lease is not over.
  bool closed = false;                   ///< min_hold keeps everybody out.
  bool malformed = false;    ///< Its fields are not what this library writes; live is true.
  bool has_body = false;     ///< Does the document hold anything besides its lock?
  std::int64_t version = 0;  ///< Of the document.
  /// Of a held lock: the document's version at this grant, each share's own. None where the store
  /// cannot tell it.
  std::optional<std::int64_t> fence;
  Uuid born{};                       ///< The document's incarnation.
  LockHolder holder;                 ///< Of a held lock.
  std::string group;                 ///< Of a held lock.
  std::chrono::milliseconds ttl{};   ///< Length of its lease.
  std::chrono::milliseconds left{};  ///< Of a live lock's lease.
  /// Held: since the grant (or the last checkpoint; on MongoDB the last renewal). Not held: for how
  /// long, at least. A store that does not note when locks are released counts from the end of the
  /// last lease. A purge leaves it. Zero: it was never held, or nothing is known.
  std::chrono::milliseconds age{};
};

/// Some locks, and where the rest begins.
struct LockPage {
  std::vector<LockRow> rows;  ///< In no particular order.
  std::string next;           ///< To be passed as `after`; empty: there are no more.
};

/// An index to have (Store::EnsureIndex): fields as in Filter.
struct IndexSpec {
  std::vector<std::string> fields;  ///< First the ones compared for equality, then the order.
  /// No two documents may have the same values; one whose value of any field is missing or null
  /// repeats nothing. Numbers are equal by value (1 and 1.0). Equal arrays repeat each other, and
  /// so do equal objects; arrays without a common element do not. Whether arrays with a common
  /// element do, and whether a path leads into an array, is the store's own choice: MongoDB
  /// compares elements, the other stores whole arrays. So is it for numbers inside arrays and
  /// objects that differ in form only (`[1]`, `[1.0]`): SQLite compares their text.
  bool unique = false;
  bool descending = false;  ///< A hint: searches go through the last field downwards.
  /// Instead of one over `fields`: the one that finds held locks, for Purge. Stores that need none
  /// do nothing.
  bool held_locks = false;
};

/// What a store is like. Constant over its life, but for clock_margin.
struct StoreTraits {
  /// How many Execute calls may run at once to any purpose.
  int lanes = 1;
  /// Most operations per Execute; renewals travel in batches of up to 1,000 whatever it says.
  std::size_t max_batch = 128;
  /// Execute never blocks and takes calls from any number of threads: no batching needed.
  bool immediate = false;
  /// A lone blocking caller may run Execute on its own thread.
  bool inline_callers = true;
  /// Other processes may use the same documents.
  bool shared = true;
  /// What the clocks involved may differ by during one lease; a holder gives up this much early.
  std::chrono::nanoseconds clock_margin = std::chrono::milliseconds(1);
};

/// A subscription. Destroying it ends it; no hint is under way or comes afterwards.
class DOCLOCK_EXPORT Subscription {
 public:
  Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  virtual ~Subscription();
};

/// For administration and tests: an act on a lock by somebody who does not hold it.
enum class Intervention : std::uint8_t {
  kExpire,  ///< The lease is over now, untaken; those of all shares too.
  kBreak,   ///< The lock is cleared, with all its shares; marked in lockReleased, version + 1.
  kSteal,   ///< A stranger takes it now, with a lease of 30 s.
};

/// A database, as the engine sees it: semantic, blocking, thread-safe, batch-first. It knows
/// nothing of waiting, of threads or of T.
///
/// Nothing here throws for what happens to an operation: that is its result. Functions other than
/// Execute throw Error.
class DOCLOCK_EXPORT Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store();

  /// What it is like.
  [[nodiscard]] virtual StoreTraits traits() const noexcept = 0;

  /// Opens (and on first use makes) a collection. The same name gives the same object; another
  /// choice of field names or ttl for a name already open is std::invalid_argument.
  /// @throws std::invalid_argument for a bad name: 1 to 64 characters of [A-Za-z0-9_.-], not
  /// starting with '.' or '-'. @throws StoreException
  virtual std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                           std::chrono::milliseconds default_ttl) = 0;

  /// An open collection by its name, or null.
  [[nodiscard]] virtual std::shared_ptr<Collection> Find(const std::string& name) const = 0;

  /// Executes a batch of operations on different documents, in any order, each with its own
  /// result. (Renewals of shares may be many of one document: each of another share.) Returns
  /// within about `budget`. Never throws for an operation's sake; whatever it does throw (out of
  /// memory) leaves the rest of the batch in doubt.
  virtual void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) = 0;

  /// Shows the documents that match to `sink`, in the filter's order, until it returns false. The
  /// sink may not call the store.
  virtual void Query(Collection& collection, const Filter& filter,
                     const std::function<bool(QueryRow&&)>& sink,
                     std::chrono::milliseconds budget) = 0;

  /// Takes the lock of the first free document that matches, in the filter's order; exclusively (a
  /// share is kRefused, as is what StoreOp names). kMissing: none is free. Live locks are skipped.
  /// `op.key` is ignored on the way in and points at `key` once a document is chosen, which is
  /// before anything is written, so that a lock in doubt can be given back. A store that cannot
  /// know before leaves `op.key` alone in doubt: then a lock that was taken ends with its lease.
  virtual void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                           std::chrono::milliseconds budget) = 0;

  /// Makes an index exist. Never needed for correctness.
  virtual void EnsureIndex(Collection& collection, const IndexSpec& index) = 0;

  /// Clears the lock fields of expired locks; never those of a live one, and never the version.
  /// Returns how many. At most `limit` per call.
  virtual std::int64_t Purge(Collection& collection, std::int64_t limit,
                             std::chrono::milliseconds budget) = 0;

  /// Calls `hint` when a lock of this collection may have become free, with its key's hash or
  /// with nothing when any may have. Hints may be missing, late or needless. Called on a thread of
  /// the store's; must return soon and may not call the store. Null: this store has no hints.
  virtual std::unique_ptr<Subscription> Watch(
      Collection& collection, std::function<void(std::optional<std::size_t>)> hint) = 0;

  /// Might another process be waiting for locks of this collection right now? A cheap guess.
  [[nodiscard]] virtual bool OthersMayWait(Collection& collection) const noexcept = 0;

  /// Shows locks, page by page: `after` is empty at first, then what the last page said. A lock
  /// that is there all the while is shown; one that comes or goes meanwhile may be. A page may be
  /// empty and yet not the last.
  /// @throws StoreException (kRefused from a store that cannot list: the default)
  [[nodiscard]] virtual LockPage ListLocks(Collection& collection, const LockQuery& query,
                                           const std::string& after,
                                           std::chrono::milliseconds budget);

  /// See Intervention. @throws NotFoundException, LockException (kNotOwner: nobody holds it),
  /// StoreException
  virtual void Intervene(Collection& collection, const Key& key, Intervention what) = 0;
};

}  // namespace doclock
