#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "doclock/body.h"
#include "doclock/errors.h"
#include "doclock/lock_options.h"
#include "doclock/store/grant.h"
#include "doclock/store/operation.h"
#include "doclock/uuid.h"

namespace doclock {

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
  /// What the caller asks for.
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
  /// What the store did.
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

  /// For one document.
  AcquireOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kAcquire, c, k) {}

  Request request;  ///< See Request.
  Result result;    ///< See Result.
};

/// Renews the lease from now on, by the store's clock. It never shortens the lease, so that
/// renewals of different lengths may arrive in any order. kDone, kLost (not held by lock_id, or
/// expired: a renewal never revives), kMissing, kFailed, kInDoubt.
struct RenewOp : StoreOp {
  /// What the caller asks for.
  struct Request {
    Uuid lock_id{};                   ///< The lock's.
    std::chrono::milliseconds ttl{};  ///< The new lease.
    bool detached = false;            ///< See GrantRequest.
    /// The process whose life the lock depends on stays the same. For clients that are not the
    /// holder, and for a holder's renewal that may arrive after its own Detach.
    bool keep_process = false;
    LockMode mode = LockMode::kExclusive;  ///< What `lock_id` was granted as.
  };

  /// For one document.
  RenewOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kRenew, c, k) {}

  Request request;  ///< See Request.
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
  /// What the caller asks for.
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
  /// What the store did.
  struct Result {
    /// After the write; of an erasure, what it would be. With kInDoubt: if it was made; or 0.
    std::int64_t version = 0;
  };

  /// For one document.
  WriteOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kWrite, c, k) {}

  Request request;  ///< See Request.
  Result result;    ///< See Result.
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
  /// What the caller asks for.
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
  /// What the store did.
  struct Result {
    std::int64_t version = 0;  ///< After the write. With kInDoubt: if it was made; or 0.
    Uuid born{};  ///< After a kInsert: the document's incarnation, chosen by the store.
  };

  /// For one document.
  SaveOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kSave, c, k) {}

  Request request;  ///< See Request.
  Result result;    ///< See Result.
};

/// Reads. kDone, kMissing, kFailed. Sees everything acknowledged before it was sent (linearizable).
struct ReadOp : StoreOp {
  /// What the store found.
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

  /// For one document.
  ReadOp(Collection& c, OpKey k) noexcept : StoreOp(OpKind::kRead, c, k) {}

  Result result;  ///< See Result.
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

}  // namespace doclock
