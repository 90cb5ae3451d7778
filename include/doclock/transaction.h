#pragma once

/// @file
/// Transaction: writes of several documents that are stored together or not at all.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"
#include "doclock/detail/engine.h"
#include "doclock/detail/facade.h"
#include "doclock/detail/transaction.h"
#include "doclock/held_lock.h"
#include "doclock/lock_manager.h"
#include "doclock/locking_repository.h"

namespace doclock {

/// The most documents of one Transaction.
inline constexpr std::size_t kMaxTransactionDocuments = 1000;
/// The most bytes that the bodies of one Transaction have together, about: control characters in
/// strings, which JSON writes as six bytes, count as one.
inline constexpr std::size_t kMaxTransactionBytes = std::size_t{32} << 20;

/// Writes of several documents, of any collections of one LockManager, that are stored together or
/// not at all.
///
/// The verbs only take note. Commit() writes what handles and snapshots hold *by then*: an entity
/// may still be changed after its handle was named. A Transaction that is destroyed without a
/// successful Commit() has done nothing, and the handles hold what they held. A named handle may be
/// moved. If it is destroyed before Commit(), its document is written all the same, and its lock is
/// kept until the Transaction goes.
///
/// The writes take effect in the order in which they were named: a value of a unique index that one
/// gives up may be taken by a later one. Each document may be named once. What a decision rests on
/// and that is not written is named by Expect.
///
/// Every verb throws
/// - std::logic_error for an empty handle or snapshot, and after a Commit() that succeeded or whose
///   outcome is unknown,
/// - std::invalid_argument for a document of another LockManager, one that was named before, and
///   more than kMaxTransactionDocuments.
///
/// Move-only. Not thread-safe.
class DOCLOCK_EXPORT Transaction {
 public:
  /// Begins a transaction; the store is not asked yet.
  /// @throws StoreException kRefused if the store has no transactions (StoreTraits::transactions)
  explicit Transaction(LockManager manager);
  /// Leaves the other one empty: all but destruction and assignment throw std::logic_error.
  Transaction(Transaction&&) noexcept;
  /// Leaves the other one empty, and drops what this one has taken note of.
  Transaction& operator=(Transaction&&) noexcept;
  /// Drops what it has taken note of.
  ~Transaction();

  /// Stores the entity and unlocks, as Locked::Release.
  template <class T>
  Transaction& Release(Locked<T>& handle) {
    return Enlist(handle.active_state(), WriteKind::kRelease);
  }
  /// Stores the entity and unlocks, and takes over the handle: the lock is held until the
  /// Transaction is committed or destroyed.
  template <class T>
  Transaction& Release(Locked<T>&& handle) {
    Enlist(handle.active_state(), WriteKind::kRelease);
    handle.state_ = nullptr;
    return *this;
  }
  /// Stores several entities and unlocks them: what LockingRepository::LockAll returned. If it
  /// throws, it has taken note of none of them.
  template <class T>
  Transaction& Release(std::vector<Locked<T>>& handles) {
    return AllOrNone([&] {
      for (Locked<T>& handle : handles) Release(handle);
    });
  }
  /// Stores and unlocks handles of several types: what LockAll returned. If it throws, it has taken
  /// note of none of them.
  template <class... Handles>
    requires(sizeof...(Handles) > 1)
  Transaction& Release(Handles&... handles) {
    return AllOrNone([&] { (Release(handles), ...); });
  }
  /// Stores the entity, renews the lease and keeps the lock, as Locked::Save.
  template <class T>
  Transaction& Save(Locked<T>& handle) {
    return Enlist(handle.active_state(), WriteKind::kCheckpoint);
  }
  /// Deletes the document and its lock, as Locked::Erase.
  template <class T>
  Transaction& Erase(Locked<T>& handle) {
    return Enlist(handle.active_state(), WriteKind::kErase);
  }

  /// @cond
  // Errors in words.
  Transaction& Release(detail::NoHandle);
  Transaction& Save(detail::NoHandle);
  Transaction& Erase(detail::NoHandle);
  Transaction& Insert(detail::NoRepository);
  Transaction& Expect(detail::NoRepository);
  /// @endcond

  /// Commits only if this named lock is held then, and renews its lease. @throws
  /// std::invalid_argument for a share.
  Transaction& Keep(HeldLock& lock);
  /// Releases the named lock, as HeldLock::Release. @throws std::invalid_argument for a share.
  Transaction& Release(HeldLock& lock);

  /// Stores T's fields and unlocks, as LockingRepository::ReleaseLock does. The entity is
  /// read now.
  template <class T>
    requires(KeyedEntity<T> && LockCarryingEntity<T>)
  Transaction& ReleaseLock(const LockingRepository<T>& repository, const T& entity) {
    return Note(repository, repository.documents().ReleaseOf(entity));
  }

  /// Creates a document, as LockingRepository::Insert. The entity is read now.
  template <class T>
  Transaction& Insert(const LockingRepository<T>& repository,
                      std::type_identity_t<detail::KeyArg<T>> key,
                      const std::type_identity_t<T>& entity) {
    return Note(repository, repository.documents().InsertSpec({std::move(key), entity}));
  }
  /// Creates a document for an entity that knows its key. The entity is read now.
  template <class T>
    requires KeyedEntity<T>
  Transaction& Insert(const LockingRepository<T>& repository,
                      const std::type_identity_t<T>& entity) {
    return Note(repository, repository.documents().InsertSpec(entity));
  }
  /// Stores the snapshot's entity if the document is unchanged since it was read, as
  /// LockingRepository::Save. Do not move or destroy the snapshot before the Commit(); afterwards
  /// it has the new version.
  template <class T>
  Transaction& Save(const LockingRepository<T>& repository, Snapshot<T>& snapshot) {
    state()->CheckOwn();
    auto body = std::make_shared<Body>();
    const auto make = [repository, &snapshot, body]() -> detail::CommitPartSpec {
      detail::SaveSpec spec = repository.documents().ReplaceSpec(snapshot);
      *body = spec.body;
      return spec;
    };
    const auto done = [&snapshot, body](std::optional<std::int64_t> version) {
      if (version) snapshot.Follow(*body, *version);
    };
    return Add(*repository.documents().binding(), snapshot.key(), make, done);
  }
  /// Stores the snapshot's entity as the Save of a reference, and takes the snapshot over. The
  /// entity is read now.
  template <class T>
  Transaction& Save(const LockingRepository<T>& repository, Snapshot<T>&& snapshot) {
    state()->CheckNotLent();
    const Snapshot<T> taken = std::move(snapshot);
    return Note(repository, repository.documents().ReplaceSpec(taken));
  }
  /// Deletes the document if it is unchanged since the snapshot was read.
  template <class T>
  Transaction& Erase(const LockingRepository<T>& repository, const Snapshot<T>& snapshot) {
    return Note(repository, repository.documents().EraseSpec(snapshot));
  }

  /// Commits only if the document is unchanged since the snapshot was read: for what a decision
  /// rests on. It writes nothing of the document. A save, an erasure and a grant of its lock are
  /// changes; a lock that was held when it was read is none until its holder writes. The snapshot
  /// is read now. @throws from Commit: ConflictException if the document was changed,
  /// NotFoundException if it was erased
  template <class T>
  Transaction& Expect(const LockingRepository<T>& repository, const Snapshot<T>& snapshot) {
    return Note(repository, repository.documents().ExpectSpec(snapshot));
  }

  /// Writes all documents, or none; those that it only expects are looked at all the same. Without
  /// any document it does nothing. After success the Transaction is used up, and the handles are as
  /// after their single verbs. Unless it throws InDoubtException, nothing was written; and except
  /// after kClosed and kForked every handle whose lock is not lost is *still held*, and Commit()
  /// can be called again. Until then a handle of a document does not Release, Save or Erase by
  /// itself, which would store a part of the transaction: Locked::Revert makes its entity again
  /// what is stored.
  ///
  /// The leases of the handles are not renewed while the store writes, and their deadlines stay.
  /// @throws what the single verbs throw, naming the document that was refused: LockException kLost
  /// (that handle is dead) and kNotOwner, ConflictException, NotFoundException, LockException
  /// kBusy, DocumentException, StoreException
  /// @throws StoreException kRefused if the bodies have more than kMaxTransactionBytes
  /// @throws InDoubtException if the outcome is unknown: all is stored or nothing is, and all
  /// handles are dead
  /// @throws std::logic_error if a handle has released its lock meanwhile, or is in use
  /// @throws what joined work throws
  void Commit();
  /// Commit() with a completion token of signature `void(std::exception_ptr)`. The call reads the
  /// entities, and throws errors in them. Do not use handles, snapshots and the Transaction until
  /// the operation completes; handles and the Transaction may be moved or destroyed.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto CommitAsync(Token&& token = Token()) {
    const detail::TransactionStatePtr& noted = state();
    return detail::Initiate(noted->engine(), detail::CommitOperation{noted, noted->MakeSpec()},
                            std::forward<Token>(token));
  }

  /// For the headers of the stores, which say what `join` is given: see CommitOp. @throws
  /// std::invalid_argument over a store that gives something else; std::logic_error for a second
  /// one
  Transaction& JoinNative(NativeHandle native, std::function<void(void*)> join);

 private:
  friend class Inbox;
  friend class Outbox;
  friend class detail::TransactionState;

  explicit Transaction(detail::TransactionStatePtr state);

  /// A write under the lock of a handle.
  template <class StatePtr>
  Transaction& Enlist(const StatePtr& handle, WriteKind kind) {
    state()->CheckNotLent();
    const auto make = [handle, kind]() -> detail::CommitPartSpec {
      if (handle->ended.load(std::memory_order_acquire)) detail::ThrowEmptyHandle();
      return detail::HolderSpec{handle->lease, kind,
                                kind == WriteKind::kErase ? Body() : handle->MakeBody()};
    };
    const auto done = [handle, kind](std::optional<std::int64_t> version) {
      handle->unsettled = !version;
      if (!version) return;
      kind == WriteKind::kCheckpoint ? handle->Saved() : handle->Ended();
    };
    return Add(*handle->binding, detail::LeaseKey(*handle->lease), make, done);
  }
  /// A write that is known already.
  template <class T, class Spec>
  Transaction& Note(const LockingRepository<T>& repository, Spec spec) {
    const Key key = spec.key;
    const auto make = [spec = std::move(spec)]() -> detail::CommitPartSpec { return spec; };
    return Add(*repository.documents().binding(), key, make, [](auto) {});
  }
  /// Calls verbs, and drops what they have taken note of if one throws.
  template <class Verbs>
  Transaction& AllOrNone(const Verbs& verbs) {
    const detail::TransactionStatePtr& noted = state();
    const std::size_t before = noted->size();
    try {
      verbs();
    } catch (...) {
      noted->KeepFirst(before);
      throw;
    }
    return *this;
  }
  Transaction& Enlist(HeldLock& lock, WriteKind kind);
  Transaction& Add(const detail::Binding& binding, const Key& key,
                   detail::TransactionState::Make make, detail::TransactionState::Done done);
  [[nodiscard]] const detail::TransactionStatePtr& state() const;

  std::optional<LockManager> manager_;  ///< None: the caller of Update keeps it open.
  detail::TransactionStatePtr state_;
};

}  // namespace doclock
