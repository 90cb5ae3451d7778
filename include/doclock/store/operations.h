#pragma once

/// @file
/// What a Store is asked to do with documents: operations, each a request and a result.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/options.h"

namespace doclock {

/// How the waiters of one process take turns with clients that only poll for a lock.
struct Turns {
  std::chrono::milliseconds after;   ///< A process takes a lock again and again for this long.
  std::chrono::milliseconds length;  ///< Then its waiters leave the lock free for this long.
};

/// A collection as its store knows it. Made by Store::Open; lives as long as its store.
class DOCLOCK_EXPORT Collection {
 public:
  /// For stores. @throws std::invalid_argument for a bad name, field name or ttl.
  Collection(std::string name, LockFieldNames fields, std::chrono::milliseconds default_ttl);
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;
  virtual ~Collection();
  /// Its name.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Returns the names of the lock's fields.
  [[nodiscard]] const LockFieldNames& fields() const noexcept { return fields_; }
  /// Returns the lease of stored locks that have no length of their own.
  [[nodiscard]] std::chrono::milliseconds default_ttl() const noexcept { return default_ttl_; }
  /// Returns how to take turns with clients of another library, whose documents these are: they
  /// poll, and their documents hold neither a queue nor the mark of the last release.
  /// Null: the documents are this library's.
  [[nodiscard]] virtual const Turns* turns() const noexcept { return nullptr; }
  /// Returns whether its documents hold bodies besides their locks.
  [[nodiscard]] virtual bool has_bodies() const noexcept { return true; }

 private:
  std::string name_;
  LockFieldNames fields_;
  std::chrono::milliseconds default_ttl_;
};

/// The outcome of an operation.
enum class OpStatus : std::uint8_t {
  kPending,   ///< Not executed; a store never leaves this.
  kDone,      ///< Granted, renewed, written, found.
  kBusy,      ///< Another client's live lock (detail: holder, remaining).
  kMissing,   ///< No such document.
  kConflict,  ///< Another version, an existing document, or a unique index (detail).
  kLost,      ///< The lock named in the request does not hold the document.
  kFailed,    ///< The store failed and nothing was written (detail: code, message).
  kInDoubt,   ///< The write may or may not have happened (detail: message).
  kKept,      ///< Another client's transaction has locked the row (see IfKept::kLeave).
};

/// What becomes of an operation whose document another client's transaction keeps, in a database
/// where that is so. In a call of several, those that wait come behind the others, one after the
/// other.
enum class IfKept : std::uint8_t {
  kWait,         ///< It waits, as long as the call has. A renewal waits for a moment at most.
  kWaitShortly,  ///< It waits for a second, and is then kFailed (kUnavailable).
  /// It waits for a moment at most (in a call of several for no row), and is then kKept, with
  /// nothing changed: the caller executes it once more, in a call of its own.
  kLeave,
};

/// Details of an operation that did not end in kDone.
struct OpDetail {
  Errc code = Errc::kUnavailable;  ///< With kFailed: the code.
  std::string message;             ///< The cause of kFailed and kInDoubt.
  bool kept_closed = false;        ///< With kBusy: it is free, but min_hold is not over.
  LockHolder holder;               ///< With kBusy: the holder, if known.
  /// With kBusy: the time until the operation could be granted, unless a lease is renewed or
  /// released before. An acquire waits for the lease in its way and for min_hold, so for the longer
  /// of the two; a save waits for the lease only.
  std::optional<std::chrono::milliseconds> remaining;
  std::optional<std::int64_t> found_version;  ///< With kConflict: the stored version.
  std::string index;  ///< With kConflict: the fields of the index that refused, by commas.
};

/// The kind of a StoreOp.
enum class OpKind : std::uint8_t { kAcquire, kRenew, kWrite, kSave, kRead };

/// The key of an operation, which keeps its address: no temporary.
struct OpKey {
  /// Takes a key that outlives the operation.
  OpKey(const Key& k) noexcept : OpKey(k, k.Hash()) {}  // NOLINT(google-explicit-constructor)
  /// Takes the key's hash too, if that is known already.
  OpKey(const Key& k, std::size_t key_hash) noexcept : key(&k), hash(key_hash) {}
  /// Deleted: the temporary would be gone before the operation runs.
  OpKey(const Key&&) = delete;
  /// Deleted: the temporary would be gone before the operation runs.
  OpKey(const Key&&, std::size_t) = delete;

  const Key* key;    ///< The key.
  std::size_t hash;  ///< key->Hash().
};

/// One operation on one document; the base of the five kinds below. The caller fills in
/// `request`, the store `status`, `detail` and `result`. `collection` and `key` must outlive the
/// call.
///
/// Every store refuses these requests, as kFailed (kRefused), whatever the document holds:
/// - a grant under a nil lock id or under kSharedLockId; a limit that is not 1 to kMaxHolders;
/// - a write by a share of more than a note (see WriteOp::Request::mode);
/// - a hand-over to a share, or under the id of the lock that is released; a `next` with anything
///   but a kRelease;
/// - a kInsert without a body; a kReplace of kAnyVersion.
/// The engine has checked every body with CheckBody. A store checks again only that all text in it
/// is valid UTF-8: otherwise the operation is kFailed (kDocument), and nothing is written.
///
/// Lock fields with values that this library never writes are malformed. Every operation on such a
/// document is kFailed (kMalformed), and nothing is written. But if the stored id and version are
/// intact, a holder that knows both can release it, and in some stores save and erase it too.
struct StoreOp {
  OpKind kind;                           ///< The derived type.
  OpStatus status = OpStatus::kPending;  ///< The outcome; set by the store.
  Collection* collection;                ///< The collection; opened by the same store.
  const Key* key;                        ///< The document's key.
  std::size_t hash;                      ///< key->Hash().
  /// It was sent before, and is in doubt since. What shows it to be done may come from the
  /// earlier attempt. (A hint for stores that look up what they have done.)
  bool is_retry = false;
  /// Others stand in this document's queue, probably. (A hint for stores whose cheapest
  /// request depends on it.)
  bool queue_likely = false;
  IfKept if_kept = IfKept::kWait;    ///< See IfKept.
  std::unique_ptr<OpDetail> detail;  ///< Details; may stay null. Set by the store.

  /// Clears status, detail and result: as before it was executed. Defined below.
  void MakePending() noexcept;
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
  StoreOp(OpKind k, Collection& c, OpKey document) noexcept
      : kind(k), collection(&c), key(document.key), hash(document.hash) {}
  ~StoreOp() = default;
  StoreOp(StoreOp&&) = default;
  StoreOp& operator=(StoreOp&&) = default;
};

/// The client that takes a lock. Shared, immutable.
using OwnerPtr = std::shared_ptr<const LockHolder>;

/// What a document shows as the lock id while shares are held. Each share has an id of its own.
/// No client can hold a lock by it: an acquire with it is kRefused, a renewal or write by it is
/// kLost.
inline const Uuid kSharedLockId = {{0x64, 0x6f, 0x63, 0x6c, 0x6f, 0x63, 0x4b, 0x00, 0x80, 0x00,
                                    0x73, 0x68, 0x61, 0x72, 0x65, 0x64}};

/// The most entries in a document's queue. A waiter that finds it full leaves none, and polls.
inline constexpr std::size_t kMaxQueueEntries = 64;

/// The longest lease of a lock that was granted from the queue, until its first renewal or
/// checkpoint. A waiter that died meanwhile costs the others no more than this.
inline constexpr std::chrono::milliseconds kProbation = std::chrono::seconds(5);

/// The lock that an AcquireOp asks for, or that a release hands over (WriteOp::Request::next).
struct GrantRequest {
  Uuid lock_id{};                   ///< Fresh per attempt; never nil.
  std::chrono::milliseconds ttl{};  ///< Length of the lease.
  OwnerPtr owner = nullptr;         ///< Diagnostic only; may be null.
  /// For this long after the grant, by the store's clock, no other client is granted the lock,
  /// whether it was released or not, and whether its holder lives or not. Kept beside the lock; a
  /// release leaves it. A hand-over may be granted meanwhile; it can prolong this time, and never
  /// shortens it.
  std::chrono::milliseconds min_hold{};
  /// The lease alone decides, even if this process dies: for locks that outlive their handle.
  /// (Stores that cannot see that a process is dead ignore this.)
  bool detached = false;
  std::string group = {};                ///< LockOptions::group; kept beside the lock.
  LockMode mode = LockMode::kExclusive;  ///< See AcquireOp for the rules.
  int max_holders = kMaxHolders;         ///< With kShared: this grant's limit.
  /// For stores with StoreTraits::queues; 0: the attempt leaves no entry. An
  /// AcquireOp that is kBusy leaves an entry under `lock_id` in the document's queue, or refreshes
  /// it in its place, and the entry counts for this long from now. All attempts of one waiter use
  /// the same lock_id.
  std::chrono::milliseconds queue_for{};
  /// In a hand-over (WriteOp::Request::next) in such a store: the id of the waiter's entry, which
  /// the same write removes; nil: it has none. The rest of the queue stays as it is.
  Uuid entry{};
};

/// Takes the lock. Each share is a lease of its own. A lease that is over keeps no client out: the
/// grant takes over, and drops it.
/// - An exclusive attempt is granted unless an exclusive lock or a share is live.
/// - A share is granted unless there is a live exclusive lock, or no room for one more live share
///   by its own max_holders.
/// - min_hold (lockClosed) stops both.
///
/// Every grant raises the version, also that of a share. Shares do not write what they locked: they
/// may be renewed and released, but not checkpointed, erased or handed over. A share that could be
/// granted is kFailed (kRefused) if a live share of this document has its id already.
///
/// The remaining time of kBusy depends on the attempt. An exclusive attempt gets that of the share
/// that ends last, or (if the lock is free) of the entry of the share that is first in the queue. A
/// share gets that of the share that ends first, or (if there is room for one more) of the entries
/// of the exclusive waiters before it. It is min_hold's if that is longer. The holder of kBusy is
/// that of the share that ends last; if several end together, that of the one granted last.
///
/// In a store with StoreTraits::queues, a waiter's attempts leave an entry in the queue of a
/// document that exists (GrantRequest::queue_for). An entry counts until its time is over.
/// - A client that frees the lock grants it in the same write, if the first entry is exclusive: a
///   kRelease without `next` (of the last live share too, which raises the version then), a kLeave,
///   a save that clears a lock that is over. A kLeave of an entry does so too, if the lock is free,
///   and raises the version then. None of them does while min_hold lasts. An erasure ends the
///   queue. A purge leaves a lock that others wait for.
/// - Before a shared entry the lock becomes free: exclusive attempts are kBusy until the share has
///   made its next attempt, or its entry is over.
/// - No exclusive attempt passes the entries of others. If the lock is free and another's exclusive
///   entry is first, the attempt grants it the lock, and is kBusy itself.
/// - No share passes an exclusive entry, nor takes the room of the shared entries before it. Where
///   a waiting writer has no entry, shares that overlap may keep it waiting without end.
/// - A lock that was granted from the queue has a lease of at most kProbation until its first
///   renewal or checkpoint.
/// - An attempt with `queue_for` whose lock_id holds the lock, or a share of it, already is kDone
///   (`passed_on`), and changes nothing.
///
/// kDone (granted), kBusy, kMissing (no `insert`), kConflict (a unique index), kFailed, kInDoubt.
struct AcquireOp : StoreOp {
  /// The request of an AcquireOp; set by the caller.
  struct Request {
    GrantRequest grant;  ///< The lock.
    Body insert;         ///< The body of a missing document; none: it must exist.
    /// For Store::AcquireNext: an earlier search found nothing. The store may look first in a way
    /// that keeps no writer waiting, and tells `free_in`.
    bool asks_free_in = false;
    /// A hint has told of a grant under this id (GrantSeen). The store may look first in a way that
    /// keeps no writer waiting.
    bool seems_granted = false;
  };
  /// The result of an AcquireOp; set by the store.
  struct Result {
    /// lockVersion after the grant; the fence. With `queued`: after this attempt, so that a grant
    /// from the queue has a higher one.
    std::int64_t version = 0;
    /// Also with `queued`: the document's incarnation. It is `grant.lock_id` if this call created
    /// the document, so that a caller whose reply was lost can tell.
    Uuid born{};
    Body body;               ///< The stored body (`insert` itself when created).
    bool created = false;    ///< This call created the document.
    bool took_over = false;  ///< The lock of an expired or dead holder was taken.
    /// The lock was granted from the queue, by an earlier operation of another client.
    bool passed_on = false;
    /// With kBusy: the entry under `grant.lock_id` stands, and this attempt wrote it. As durable as
    /// a grant, because a waiter counts its lease from here if it is granted from the queue later.
    bool queued = false;
    /// With kBusy: live entries before its own; without one, all. Empty: unknown.
    std::optional<int> ahead;
    /// With kMissing, from Store::AcquireNext: how long until another search is worthwhile, if no
    /// client writes meanwhile. Then a free document falls due that matches (Filter::Due), or the
    /// lock of one that matches is over. About: the store may look at some of the locks only. The
    /// maximum: neither will happen. Empty: the store cannot tell.
    std::optional<std::chrono::milliseconds> free_in;
  };

  /// Makes an acquire of one document.
  AcquireOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kAcquire, c, k) {}

  Request request;  ///< Set by the caller.
  Result result;    ///< Set by the store.
};

/// Renews the lease from now on, by the store's clock. It never shortens the lease, so that
/// renewals of different lengths may arrive in any order. kDone, kLost (not held by lock_id, or
/// expired: a renewal never revives), kMissing, kFailed, kInDoubt.
struct RenewOp : StoreOp {
  /// The request of a RenewOp; set by the caller.
  struct Request {
    Uuid lock_id{};                   ///< The lock's.
    std::chrono::milliseconds ttl{};  ///< The new lease.
    bool detached = false;            ///< See GrantRequest.
    /// The process whose life the lock depends on stays the same. For clients that are not the
    /// holder, and for a holder's renewal that may arrive after its own Detach.
    bool keep_process = false;
    LockMode mode = LockMode::kExclusive;  ///< What `lock_id` was granted as.
  };

  /// Makes a renewal of one document.
  RenewOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kRenew, c, k) {}

  Request request;  ///< Set by the caller.
};

/// What a WriteOp does.
enum class WriteKind : std::uint8_t {
  kCheckpoint,  ///< Write the body and renew the lease; keep the lock.
  kRelease,     ///< Write the body (if any) and clear the lock.
  kErase,       ///< Delete document and lock.
  /// Give up a lock that may have been granted, or its entry in the queue: remove the entry of
  /// lock_id, or release the lock or the live share that lock_id holds. kLost if there is none of
  /// them. Never with a body or `next`; `mode` is kExclusive, whatever there is to give up. For
  /// stores with StoreTraits::queues.
  kLeave,
};

/// Version of a WriteOp that the writer does not know (a release by value).
inline constexpr std::int64_t kAnyVersion = -1;

/// Writes under the lock. Matches lock_id and version, never the time. kDone, kLost, kMissing,
/// kConflict (a unique index), kFailed (nothing written, still locked), kInDoubt.
struct WriteOp : StoreOp {
  /// The request of a WriteOp; set by the caller.
  struct Request {
    WriteKind write = WriteKind::kRelease;  ///< What it does.
    Uuid lock_id{};                         ///< The lock's.
    std::int64_t expected = kAnyVersion;    ///< The version last known.
    Uuid born{};                            ///< The incarnation; nil: unknown. (A hint.)
    Body body;                              ///< The new body; none: untouched.
    Body base;                        ///< The body last known, for stores that send differences.
    bool merge = false;               ///< `body` holds some fields; the rest stays.
    std::chrono::milliseconds ttl{};  ///< kCheckpoint's new lease.
    /// kCheckpoint: the version at this lock's grant, for stores that do not record it with the
    /// grant; 0: not known. Diagnostic only.
    std::int64_t fence = 0;
    bool renewed = true;  ///< Whether the lock may have been renewed. (A hint for stores.)
    const GrantRequest* next = nullptr;  ///< kRelease hands over to this grant, exclusively.
    /// What a kRelease, with `next` or without, leaves in lockReleased; nil: lock_id. For releases
    /// that do not come from the holder's handle, which must not take them for its own.
    Uuid release_id{};
    /// What `lock_id` was granted as. For a share only kRelease is allowed, without `expected` or
    /// `next` (else kFailed, kRefused). It removes the share's entry and leaves the other shares;
    /// the last release frees the lock. The version stays the same, because nothing was written,
    /// unless there is a `body` to `merge`: the note of a client that ends another's share. kLost:
    /// there is no such share, or its lease is over.
    LockMode mode = LockMode::kExclusive;

    /// Returns what a release that takes effect leaves in lockReleased.
    [[nodiscard]] const Uuid& ReleaseId() const noexcept {
      return release_id.is_nil() ? lock_id : release_id;
    }
  };
  /// The result of a WriteOp; set by the store.
  struct Result {
    /// After the write; of an erasure, what it would be. With kInDoubt: if it was made; or 0.
    std::int64_t version = 0;
  };

  /// Makes a write of one document.
  WriteOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kWrite, c, k) {}

  Request request;  ///< Set by the caller.
  Result result;    ///< Set by the store.
};

/// What a SaveOp does.
enum class SaveKind : std::uint8_t {
  kInsert,   ///< The document must not exist; `body` must.
  kReplace,  ///< The document must be at `expected` of `born`, and `expected` be a version.
  kErase,    ///< Delete; at `expected` of `born` unless that is kAnyVersion.
  /// Write nothing. The document must be at `expected` of `born`, and `expected` be a version. Only
  /// in a CommitOp, which is stored only if it is so at the moment of the commit. A lock, also a
  /// live one, is no obstacle: what its holder writes comes later. The document keeps its version,
  /// its mark, its lock and its queue, and no waiter is notified.
  kExpect,
};

/// Writes without holding the lock. A live lock is kBusy, except for kExpect. An expired or dead
/// lock is cleared in the same write, which ends its holder's right to write. kDone, kBusy,
/// kMissing, kConflict, kFailed, kInDoubt.
struct SaveOp : StoreOp {
  /// The request of a SaveOp; set by the caller.
  struct Request {
    SaveKind save = SaveKind::kReplace;   ///< What it does.
    std::int64_t expected = kAnyVersion;  ///< The version last known.
    Uuid born{};      ///< Except for kInsert: the incarnation that `expected` is of.
    Uuid write_id{};  ///< Fresh; kept in lockReleased, so that doubt can be settled.
    Body body;        ///< The new body; none (kReplace): untouched.
    Body base;        ///< The body last known, for stores that send differences.

    /// Does it change the document?
    [[nodiscard]] bool Writes() const noexcept { return save != SaveKind::kExpect; }
  };
  /// The result of a SaveOp; set by the store.
  struct Result {
    std::int64_t version = 0;  ///< After the write. With kInDoubt: if it was made; or 0.
    Uuid born{};  ///< After a kInsert: the document's incarnation, chosen by the store.
  };

  /// Makes a save of one document.
  SaveOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kSave, c, k) {}

  Request request;  ///< Set by the caller.
  Result result;    ///< Set by the store.
};

/// Reads. kDone, kMissing, kFailed. Sees everything acknowledged before it was sent (linearizable).
struct ReadOp : StoreOp {
  /// The result of a ReadOp; set by the store.
  struct Result {
    Body body;                 ///< The stored body.
    std::int64_t version = 0;  ///< 0 for documents never locked or saved through this library.
    Uuid born{};               ///< The document's incarnation.
    Uuid lock_id{};            ///< Nil: not locked (an expired id is still shown);
                               ///< kSharedLockId while it is shared.
    /// Lock or write id of the last finished release, save or break. The release of the last share
    /// leaves its id there; the store chooses whether those of the others do.
    Uuid released{};
    bool locked = false;                    ///< Whether there is a live lock.
    LockHolder holder;                      ///< Who holds the lock.
    std::chrono::milliseconds remaining{};  ///< The time left of a live lock.
  };

  /// Makes a read of one document.
  ReadOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kRead, c, k) {}

  Result result;  ///< Set by the store.
};

/// Calls `visitor` with an operation as its derived type (by StoreOp::kind), and returns what
/// `visitor` returns.
template <typename Op, typename Visitor>
  requires std::same_as<std::remove_const_t<Op>, StoreOp>
decltype(auto) Visit(Op& op, Visitor&& visitor) {
  constexpr bool kConst = std::is_const_v<Op>;
  switch (op.kind) {
    case OpKind::kAcquire:
      return visitor(static_cast<std::conditional_t<kConst, const AcquireOp, AcquireOp>&>(op));
    case OpKind::kRenew:
      return visitor(static_cast<std::conditional_t<kConst, const RenewOp, RenewOp>&>(op));
    case OpKind::kWrite:
      return visitor(static_cast<std::conditional_t<kConst, const WriteOp, WriteOp>&>(op));
    case OpKind::kSave:
      return visitor(static_cast<std::conditional_t<kConst, const SaveOp, SaveOp>&>(op));
    case OpKind::kRead:
      break;
  }
  return visitor(static_cast<std::conditional_t<kConst, const ReadOp, ReadOp>&>(op));
}

inline void StoreOp::MakePending() noexcept {
  status = OpStatus::kPending;
  detail.reset();
  Visit(*this, [](auto& op) {
    if constexpr (requires { op.result; }) op.result = {};
  });
}

/// Writes of several documents that are stored together, or none of them. The caller fills in the
/// request, the store the result.
///
/// - All are stored: each operation is kDone.
/// - One is refused: it has its result (kLost, kConflict, ...), and the others are kPending.
/// - `join` threw: all are kPending, and `thrown` holds the exception.
/// - The store failed as a whole: each operation is kFailed, and nothing is stored.
/// - The outcome is unknown: each operation is kInDoubt. Either all are stored, or none is.
struct CommitOp {
  /// At least one WriteOp (neither of a share nor a kLeave) or SaveOp, each of another
  /// document; anything else is kFailed (kRefused). They take effect in this order: a unique value
  /// that one gives up may be taken by a later one.
  std::span<StoreOp* const> ops;
  /// The user's own work in the same transaction, or none. It is given the database's own
  /// handle (StoreTraits::native). It is called when no operation was refused, before they are
  /// written, and again if another client was quicker.
  std::function<void(void* native)> join = {};
  std::exception_ptr thrown = nullptr;  ///< What `join` threw; set by the store.
};

}  // namespace doclock
