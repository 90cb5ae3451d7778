#pragma once

/// @file
/// The interface between the typed facade (templates) and the compiled engine. Not for users.

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/options.h"
#include "doclock/store/store.h"

namespace doclock::detail {

class Engine;
class Lease;
class PendingAcquire;

using EnginePtr = std::shared_ptr<Engine>;
/// One held lock, shared by its handle, the lease keeper and operations under way. The pointer is
/// intrusive because there may be millions.
using LeasePtr = boost::intrusive_ptr<Lease>;
DOCLOCK_EXPORT void intrusive_ptr_add_ref(Lease*) noexcept;
DOCLOCK_EXPORT void intrusive_ptr_release(Lease*) noexcept;

/// An error that is not thrown yet: for half of the callers "busy" is a result.
struct DOCLOCK_EXPORT Failure {
  Errc code = Errc::kUnavailable;
  std::string message;
  LockHolder holder;
  std::optional<std::chrono::milliseconds> remaining;
  std::optional<int> waiting;  ///< See LockException::waiting.
  std::optional<std::int64_t> expected, found;
  std::string index;
  std::shared_ptr<const DocumentId> document;  ///< Null: none, several, or no memory.
  bool kept_closed = false;  ///< With kBusy: it is free, but min_hold is not over.
  bool no_memory = false;    ///< Memory ran out, and nothing was done: std::bad_alloc.

  /// Throws the public exception that belongs to `code`.
  [[noreturn]] void Throw() const;
  [[nodiscard]] std::exception_ptr AsException() const noexcept;
};
/// Null means success.
using FailurePtr = std::unique_ptr<Failure>;
inline void ThrowIf(const FailurePtr& failure) {
  if (failure) failure->Throw();
}

/// A request for a lock. It owns everything it needs.
struct AcquireSpec {
  Collection* collection = nullptr;
  Key key;        ///< Unused by AcquireNext.
  Filter filter;  ///< For AcquireNext only.
  std::chrono::milliseconds ttl{};
  Duration wait;
  std::chrono::milliseconds min_hold{};
  Duration hold_while_waiting;  ///< For AcquireAll only.
  bool renew = true;
  OwnerPtr owner;
  std::string group;
  LockMode mode = LockMode::kExclusive;
  int max_holders = kMaxHolders;
  bool named = false;  ///< A named lock: its release never discards changes.
  Body insert;
};

/// Checks the options (std::invalid_argument naming the field) and copies what they point at. The
/// caller sets `key` and `insert`.
DOCLOCK_EXPORT AcquireSpec MakeSpec(const EnginePtr&, Collection&, const LockOptions&,
                                    Duration repository_ttl);

/// A granted lock. The destructor of a Grant that still has it releases it.
struct DOCLOCK_EXPORT Grant {
  LeasePtr lease;
  Body body;
  bool created = false;
  bool took_over = false;  ///< By a search: from a holder that did not release the lock.

  Grant() = default;
  Grant(Grant&&) noexcept = default;
  Grant& operator=(Grant&& other) noexcept {
    std::swap(lease, other.lease);  // what was here is released when `other` goes
    std::swap(body, other.body);
    std::swap(created, other.created);
    std::swap(took_over, other.took_over);
    return *this;
  }
  ~Grant();
};

struct AcquireResult {
  FailurePtr failure;
  Grant grant;
};

/// Blocks. Throws only std::bad_alloc, and std::logic_error for misuse.
DOCLOCK_EXPORT AcquireResult Acquire(const EnginePtr&, AcquireSpec, std::stop_token);
DOCLOCK_EXPORT AcquireResult AcquireNext(const EnginePtr&, AcquireSpec, std::stop_token);

/// `done` is called exactly once and never inside the call that started the operation (likewise for
/// every …Async below). It is called on a thread of the engine, inside another call of the engine
/// (a release that hands the lock over, or a write that took this one along), or inside a hint of
/// the store that tells of the grant. It must be quick and must not block or throw.
using AcquireDone = std::function<void(AcquireResult)>;
using AcquireHandle = std::shared_ptr<PendingAcquire>;
DOCLOCK_EXPORT AcquireHandle AcquireAsync(const EnginePtr&, AcquireSpec, AcquireDone done);
DOCLOCK_EXPORT AcquireHandle AcquireNextAsync(const EnginePtr&, AcquireSpec, AcquireDone done);
/// Ends a wait: `done` is called with kCancelled, unless it was or is being called anyway. A grant
/// that comes too late is released in the background.
DOCLOCK_EXPORT void CancelAcquire(const AcquireHandle&) noexcept;

/// Writes under the lock. Without a body, the stored body stays (kRelease then is a discard).
/// After kLost, kForked, kClosed and kInDoubt the lock is gone. After kConflict, kRefused,
/// kDocument and kUnavailable it is still held (until the lease ends).
/// @throws std::logic_error if the lease was released already
using WriteDone = std::function<void(FailurePtr)>;
DOCLOCK_EXPORT FailurePtr Write(const LeasePtr&, WriteKind, Body);
DOCLOCK_EXPORT void WriteAsync(const LeasePtr&, WriteKind, Body, WriteDone);

/// Renews the lease; from now on it is renewed with this ttl (zero: as before). After kLost,
/// kForked and kClosed the lock is gone. After kUnavailable, kRefused and kInDoubt (unknown which
/// of the two leases holds) it is still held, until the deadline it had. Throws as Write.
DOCLOCK_EXPORT FailurePtr Renew(const LeasePtr&, std::chrono::milliseconds ttl);
DOCLOCK_EXPORT void RenewAsync(const LeasePtr&, std::chrono::milliseconds ttl, WriteDone);

/// What a handle's destructor does: queues the discard, does no I/O, never throws. Null is allowed.
DOCLOCK_EXPORT void Abandon(LeasePtr) noexcept;
/// Drops a lock that no caller ever had. It is released also while the LockManager closes.
DOCLOCK_EXPORT void GiveBack(Grant grant) noexcept;
/// Stops renewing; the lock outlives the handle until its lease ends. Blocks: one last renewal
/// tells the store that the lease alone decides from now on.
DOCLOCK_EXPORT FailurePtr Detach(const LeasePtr&);
DOCLOCK_EXPORT void DetachAsync(const LeasePtr&, WriteDone);

DOCLOCK_EXPORT const Key& LeaseKey(const Lease&) noexcept;
DOCLOCK_EXPORT const Uuid& LeaseLockId(const Lease&) noexcept;
/// lockVersion at the grant.
DOCLOCK_EXPORT std::int64_t LeaseFence(const Lease&) noexcept;
/// lockVersion after the last write.
DOCLOCK_EXPORT std::int64_t LeaseVersion(const Lease&) noexcept;
/// Wall time of the grant; diagnostic only.
DOCLOCK_EXPORT std::chrono::system_clock::time_point LeaseTime(const Lease&) noexcept;
/// The stored body as last known.
DOCLOCK_EXPORT Body LeaseBody(const Lease&);
/// Time until the holder must stop; zero once lost or released.
DOCLOCK_EXPORT std::chrono::nanoseconds LeaseRemaining(const Lease&) noexcept;
/// Still held, as far as this process can know?
DOCLOCK_EXPORT bool LeaseHeld(const Lease&) noexcept;
DOCLOCK_EXPORT std::stop_token LeaseLost(const LeasePtr&);

/// Releases a lock with the id that an entity carries. A nil lock_id is kNotOwner.
struct ValueRelease {
  Collection* collection = nullptr;
  Key key;
  Uuid lock_id{};
  std::int64_t version = kAnyVersion;
  Body fields;
  Uuid release_id{};  ///< See WriteOp; not nil: another client than the holder ends the lock.
  /// What `lock_id` was granted as. A share is released with no version and no fields.
  LockMode mode = LockMode::kExclusive;
};
DOCLOCK_EXPORT FailurePtr ReleaseByValue(const EnginePtr&, ValueRelease);
DOCLOCK_EXPORT void ReleaseByValueAsync(const EnginePtr&, ValueRelease, WriteDone);

struct ReadResult {
  FailurePtr failure;  ///< kNotFound when missing.
  Body body;
  std::int64_t version = 0;
  Uuid born{};
  bool locked = false;
};
using ReadDone = std::function<void(ReadResult)>;
DOCLOCK_EXPORT ReadResult Read(const EnginePtr&, Collection&, const Key&);
DOCLOCK_EXPORT void ReadAsync(const EnginePtr&, Collection&, Key, ReadDone);

struct ReadSpec {
  Collection* collection;
  Key key;
};
/// Reads documents as they were at one moment. Returns a result for each. @throws Error if closed
DOCLOCK_EXPORT std::vector<ReadResult> ReadTogether(const EnginePtr&, std::vector<ReadSpec>);

struct SaveSpec {
  Collection* collection = nullptr;
  Key key;
  SaveKind save = SaveKind::kReplace;
  std::int64_t expected = kAnyVersion;
  Uuid born{};
  Body body;
  Body base;
};
struct SaveResult {
  FailurePtr failure;
  std::int64_t version = 0;
  Uuid born{};
};
using SaveDone = std::function<void(SaveResult)>;
DOCLOCK_EXPORT SaveResult Save(const EnginePtr&, SaveSpec);
DOCLOCK_EXPORT void SaveAsync(const EnginePtr&, SaveSpec, SaveDone);

/// Calls `sink` for each lock, in no particular order. @throws Error
DOCLOCK_EXPORT void ListLocks(const EnginePtr&, Collection&, const LockQuery&,
                              const std::function<void(LockRow&&)>& sink);

/// Calls `sink` for each document. The sink returns false to stop, may throw, and may call the
/// library. @throws Error
DOCLOCK_EXPORT void Query(const EnginePtr&, Collection&, const Filter&,
                          const std::function<bool(QueryRow&&)>& sink);
/// Returns the documents in one call of the store. @throws Error
DOCLOCK_EXPORT std::vector<QueryRow> QueryAtOnce(const EnginePtr&, Collection&, const Filter&);
struct QueryResult {
  FailurePtr failure;
  std::vector<QueryRow> rows;
};
DOCLOCK_EXPORT void QueryAsync(const EnginePtr&, Collection&, Filter,
                               std::function<void(QueryResult)> done);

/// @throws std::logic_error
[[noreturn]] DOCLOCK_EXPORT void ThrowMovedFrom(const char* type);

/// Runs a task where users' callbacks run (for handlers that name no executor).
DOCLOCK_EXPORT void RunOnNotifier(const EnginePtr&, std::function<void()> task);

/// Refuses, by name, a body that cannot be stored exactly on every store: not an object, a
/// top-level name that is empty, holds NUL or '.', begins with '$', is `_id` or a lock field's; NaN
/// or infinity, binary values, invalid UTF-8 anywhere, names with NUL, depth, size.
/// @param base the stored body: what it has at the same place may stay, whatever it is
/// @throws DocumentException naming the member
DOCLOCK_EXPORT void CheckBody(const Body& body, const LockFieldNames& fields,
                              const Body& base = Body());
/// May the stored value have members that `fresh` lacks, at any depth? Elements of arrays are not
/// matched: an array that holds objects, and that `fresh` changes, may.
DOCLOCK_EXPORT bool HoldsMore(const nlohmann::json& stored, const nlohmann::json& fresh);
/// A body as T met it.
struct MetBody {
  const nlohmann::json& stored;    ///< What the store has.
  const nlohmann::json& upgraded;  ///< The stored body in T's form of today.
  const nlohmann::json& written;   ///< What T wrote of it, unchanged.
};
/// `fresh`, and those stored members that T never knew: neither wrote nor upgraded away. Holds for
/// objects in objects, too, as long as an object stays an object. An array that T did not change
/// stays as it is stored; of one that T changed nothing stays.
DOCLOCK_EXPORT nlohmann::json MergeBody(const MetBody& base, nlohmann::json fresh);

/// A write under a lock; without a body the stored one stays.
struct HolderSpec {
  LeasePtr lease;
  WriteKind kind = WriteKind::kRelease;
  Body body;
};

/// The write of one document in a transaction.
using CommitPartSpec = std::variant<HolderSpec, SaveSpec, ValueRelease>;

struct CommitSpec {
  std::vector<CommitPartSpec> parts;       ///< Each of another document; none: nothing is done.
  std::function<void(void* native)> join;  ///< See CommitOp.
};

struct CommitResult {
  FailurePtr failure;                  ///< Names the document that was refused.
  std::size_t refused = 0;             ///< With `failure`: the part that it names, if it names one.
  std::exception_ptr thrown;           ///< What `join` threw.
  std::vector<std::int64_t> versions;  ///< After success: of each part.
};

/// Writes all documents, or none. After kInDoubt, kForked and kClosed all locks are gone; after
/// kLost that of the named document. Otherwise all are held as before.
/// @throws std::logic_error if a lease was released already, or is in use
using CommitDone = std::function<void(CommitResult)>;
DOCLOCK_EXPORT CommitResult Commit(const EnginePtr&, CommitSpec);
DOCLOCK_EXPORT void CommitAsync(const EnginePtr&, CommitSpec, CommitDone);

}  // namespace doclock::detail
