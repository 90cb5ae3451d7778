#pragma once

/// @file
/// LockingRepository: locks, reads and writes the documents of one collection.

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "doclock/async_repository.h"
#include "doclock/detail/documents.h"
#include "doclock/detail/misuse.h"
#include "doclock/entity_traits.h"
#include "doclock/lock_admin.h"
#include "doclock/lock_all.h"
#include "doclock/lock_manager.h"
#include "doclock/locked.h"

namespace doclock {

/// The documents of one collection, as Ts: locks them, reads them, writes them.
///
/// ```cpp
/// doclock::LockingRepository<Order> orders{manager, "orders"};
/// auto order = orders.Lock("42", {.wait = 5s});  // Locked<Order>
/// order->step = "paid";
/// order.Release();                               // stores and unlocks in one step
/// ```
///
/// The verbs here block; AsyncRepository has their asynchronous forms, and Admin() what operators
/// need. A cheap handle that keeps its LockManager open. Thread-safe: all verbs are const and may
/// be called from any number of threads. One that was moved from throws std::logic_error.
///
/// **Keys.** Pass a key as the type that EntityTraits<T>::GetKey returns, or as a Key; see Target.
///
/// **Stored fields** that T does not know stay as they are, with all digits of their numbers, in
/// nested objects too, as long as an object stays one. So do the digits of a number that T does not
/// change. An array that T did not change stays as it is stored; one that T changed is
/// replaced.
///
/// **Errors.** Verbs that lock throw
/// - LockException: kBusy, or kTimedOut after a wait (with what is known about the holder),
///   kCancelled (stop token, Asio cancellation, Close()); the Try forms return nothing instead of
///   kBusy and kTimedOut,
/// - NotFoundException for a missing document, unless they are given an entity to create it from,
/// - DocumentException when T cannot read the stored body: the lock is released and the document
///   is unchanged,
/// - ConflictException when a unique index refuses the new document,
/// - StoreException (kUnavailable, kRefused, kMalformed, kClosed),
/// - InDoubtException when the lock may have been taken: the library releases it in the background.
///   After a LockNext whose store never named the document, the lock ends with its lease,
/// - std::invalid_argument for bad options, naming the field, before anything is sent.
template <class T>
class LockingRepository : public AsyncRepository<T> {
  static_assert(detail::EntityCheck<T>::value);
  using Misplaced = detail::MisplacedArguments<T>;
  using KeyArg = detail::KeyArg<T>;

 public:
  /// Opens the collection.
  /// @throws std::invalid_argument for a bad name or option, naming it; StoreException
  LockingRepository(LockManager manager, const std::string& name, RepositoryOptions options = {})
      : AsyncRepository<T>({std::move(manager), name, std::move(options)}) {}

  /// Returns the collection's name.
  [[nodiscard]] const std::string& name() const { return documents().collection().name(); }
  /// Returns the manager.
  [[nodiscard]] const LockManager& manager() const { return documents().manager(); }

  /// @name Locking one document
  /// @{

  /// Locks a document; creates it from the target's entity, if it has one and the document is
  /// missing.
  [[nodiscard]] Locked<T> Lock(Target<T> target, const LockOptions& options = {},
                               std::stop_token stop = {}) const {
    return detail::RunHere(documents().Lock(std::move(target), options), std::move(stop));
  }
  /// Lock() that returns nothing if the lock is busy.
  [[nodiscard]] std::optional<Locked<T>> TryLock(Target<T> target, const LockOptions& options = {},
                                                 std::stop_token stop = {}) const {
    return detail::RunHere(detail::TryLockOperation{documents().Lock(std::move(target), options)},
                           std::move(stop));
  }

  /// Locks as Lock() does, calls `f(T&)`, stores the entity, unlocks, and returns what `f`
  /// returned. If `f` throws, the lock is released, the document stays as it was, and the exception
  /// propagates.
  ///
  /// An `f` that cannot change the entity, or whose work is not done when it returns, does not
  /// compile: one that takes the entity by value or as const, returns a new T, or is a coroutine. A
  /// parameter that the type of `f` hides cannot be checked (a by-value lambda in a
  /// `std::function<void(T&)>`).
  template <class F>
  auto With(Target<T> target, F&& f, const LockOptions& options = {},
            std::stop_token stop = {}) const {
    static_assert(detail::kFitsWith<F, T>);
    return detail::Documents<T>::RunWith(Lock(std::move(target), options, std::move(stop)),
                                         std::forward<F>(f));
  }

  /// Stores T's fields and unlocks, using the lock that the entity carries in its LockFields; needs
  /// no handle. Fields of the document that T does not write stay, at the top level: it does not
  /// read what is stored, so a member of T's that is an object is replaced. A lock that has expired
  /// can still be released if no other client has taken it.
  /// @throws LockException kNotOwner if the entity carries no lock id, or that id does not, or no
  /// longer, lock the document: nothing was written. What Locked::Release throws.
  template <std::same_as<T> E>
    requires(KeyedEntity<E> && LockCarryingEntity<E>)
  void ReleaseLock(const E& entity) const {
    detail::RunHere(documents().ReleaseLock(entity));
  }
  /// @}

  /// @name Locking several documents, or the next one
  /// @{

  /// Locks all documents or none. It locks them in the order of the keys, so that two callers
  /// cannot deadlock, each key once, under one timeout (`wait`). While one is not available, it
  /// keeps the others for LockOptions::hold_while_waiting at most. Returns the handles in the order
  /// of the sorted keys. The error names the key that failed. lock_all.h has LockAll for documents
  /// of several repositories, in the order of the arguments.
  [[nodiscard]] std::vector<Locked<T>> LockAll(std::vector<Key> keys,
                                               const LockOptions& options = {},
                                               std::stop_token stop = {}) const {
    return detail::RunHere(documents().LockAll(std::move(keys), options), std::move(stop));
  }
  /// LockAll() that returns nothing if a lock is busy.
  [[nodiscard]] std::optional<std::vector<Locked<T>>> TryLockAll(std::vector<Key> keys,
                                                                 const LockOptions& options = {},
                                                                 std::stop_token stop = {}) const {
    return detail::RunHere(detail::TryAllOperation{documents().LockAll(std::move(keys), options)},
                           std::move(stop));
  }
  /// Returns a document for doclock::Update, LockAll and Read of several repositories. Nothing is
  /// sent yet; the target's entity is read now.
  [[nodiscard]] LockTarget<Locked<T>> At(Target<T> target) const {
    return documents().At(std::move(target));
  }

  /// Locks the first free document that matches, in the filter's order. It skips live locks and
  /// documents whose lock fields are malformed (LockAdmin::Status shows them), and two callers
  /// never get the same document. Waits up to `options.wait` for one to appear, to become free, or
  /// to fall due (Filter::Due).
  /// @throws NotFoundException if there is none by then. @throws DocumentException if T cannot read
  /// the document: it is released, and stands first again. Error::document() tells which one
  /// to put aside.
  [[nodiscard]] Locked<T> LockNext(const Filter& filter, const LockOptions& options = {},
                                   std::stop_token stop = {}) const {
    return detail::RunHere(documents().LockNext(filter, options), std::move(stop));
  }
  /// LockNext() that returns nothing if there is no such document.
  [[nodiscard]] std::optional<Locked<T>> TryLockNext(const Filter& filter,
                                                     const LockOptions& options = {},
                                                     std::stop_token stop = {}) const {
    return detail::RunHere(detail::TryLockOperation{documents().LockNext(filter, options)},
                           std::move(stop));
  }
  /// @}

  /// @name Reading
  /// Reads do not wait for locks. Those by key see everything that was acknowledged before they
  /// began. Those by filter see what is stored for good; on MongoDB they may miss the newest of it
  /// while a primary is deposed (docs/reference/mongodb.md).
  /// @{

  /// Returns the document, or nothing. @throws DocumentException, StoreException
  [[nodiscard]] std::optional<Snapshot<T>> Find(KeyArg key) const {
    return detail::RunHere(documents().Find(std::move(key).Take()));
  }
  /// Returns what matches, in the filter's order, and as it was at one moment: of a Transaction it
  /// shows all writes or none. (MongoDB shows one moment in a replica set of 5.0 or newer.) It is
  /// read in one call of the store, and all kept in memory; for many documents there is ForEach.
  /// @throws DocumentException, StoreException
  [[nodiscard]] std::vector<Snapshot<T>> Find(const Filter& filter) const {
    return detail::RunHere(documents().Find(filter));
  }
  /// Calls `f(Snapshot<T>&)` for each document that matches, in the filter's order, until `f`
  /// returns false. `f` returns a bool or nothing. An exception of `f` ends the walk and
  /// propagates.
  ///
  /// Documents are read page by page, each page in a call of its own. While `f` runs, no
  /// transaction, cursor or connection is open: `f` may call the library, write to the same
  /// documents, and take its time. So the walk sees no single moment. A document that is there all
  /// the time, and whose field of the order does not change, is shown once. In the order of keys no
  /// document is shown twice.
  /// @throws StoreException when a page cannot be read. Go on behind the last document that `f` was
  /// given, with Filter::After.
  /// @throws DocumentException
  template <class F>
  void ForEach(const Filter& filter, F&& f) const {
    documents().ForEach(filter, f);
  }
  /// @}

  /// @name Writing without a lock
  /// A live lock refuses Save and Erase (LockException kBusy), and Update waits for it. An expired
  /// lock does not: the write clears it and ends its holder's right to write. Insert meets no lock:
  /// a document that exists is a ConflictException. Each may also throw DocumentException (the
  /// entity cannot be stored), ConflictException (a unique index), StoreException, and
  /// InDoubtException when the write may or may not have happened. What throws another error has
  /// written nothing.
  /// @{

  /// Creates a document; returns its version. @throws ConflictException if it exists.
  std::int64_t Insert(KeyArg key, const T& entity) const {
    return detail::RunHere(documents().Insert({std::move(key), entity}));
  }
  /// Creates a document for an entity that knows its key.
  template <std::same_as<T> E>
  std::int64_t Insert(const E& entity) const {
    return detail::RunHere(documents().Insert(entity));
  }
  /// Stores the snapshot's entity if the document is unchanged since it was read. The snapshot then
  /// has the new version and can be saved again.
  /// @throws ConflictException if the document was changed, NotFoundException if it was erased.
  void Save(Snapshot<T>& snapshot) const { detail::RunHere(documents().Save(snapshot)); }
  /// Save() that returns false if the document was changed or is locked.
  /// @throws NotFoundException if it was erased; ConflictException for a unique index only.
  [[nodiscard]] bool TrySave(Snapshot<T>& snapshot) const {
    return detail::RunHere(documents().TrySave(snapshot));
  }
  /// Deletes a document, whatever its version; returns whether there was one.
  bool Erase(KeyArg key) const { return detail::RunHere(documents().Erase(std::move(key).Take())); }
  /// Deletes a document if it is unchanged since it was read.
  /// @throws ConflictException if the document was changed, NotFoundException if it is gone.
  void Erase(const Snapshot<T>& snapshot) const { detail::RunHere(documents().Erase(snapshot)); }

  /// Reads the document, calls `f(T&)`, and stores the result. If another client changed the
  /// document meanwhile, it begins again. After RepositoryOptions::update_retries attempts, or when
  /// it meets a lock, it takes the lock, waiting up to `update_wait`.
  ///
  /// So **f may be called several times**, each time with a fresh entity, and must not have other
  /// effects. Once the outcome of a write is in doubt, `f` is not called again: InDoubtException.
  /// An exception of `f` ends the update, and nothing is written. `f` returns nothing: a number, a
  /// pointer or a reference that it returns is ignored (false does not end the update), and an
  /// object does not compile, because it would be lost. What With says about an `f` that does not
  /// compile holds here.
  ///
  /// If the document is missing and the target has an entity, `f` is given the entity as it would
  /// be read, and what `f` makes of it is inserted. If a document is created by taking the lock,
  /// and `f` throws, it stays as the entity.
  /// @throws what Save and Lock throw.
  template <class F>
  void Update(Target<T> target, F&& f, std::stop_token stop = {}) const {
    static_assert(detail::kFitsUpdate<F, T>);
    detail::UpdateDocument(*documents().binding(),
                           documents().Update(std::move(target), std::addressof(f)),
                           std::move(stop));
  }
  /// @}

  /// @name Housekeeping
  /// @{

  /// Creates an index over fields (named as in Filter) unless it exists. Name the fields that
  /// filters compare for equality first, then the one they order by. Only a unique index affects
  /// correctness; others affect speed.
  /// @throws std::invalid_argument for a bad field, one that is named twice, or more than 31
  /// besides the key; ConflictException or StoreException if stored documents violate it;
  /// StoreException of SQLite for a unique one over a field whose name has `"`, a backslash or a
  /// control character
  void EnsureIndex(std::vector<std::string> fields, bool unique = false) const {
    documents().EnsureIndex(std::move(fields), unique);
  }
  /// Creates, unless they exist, the indexes that speed up LockAdmin::Purge, and those that speed
  /// up Find, ForEach and LockNext for filters of these forms (the values do not matter). On
  /// MongoDB each costs every write a little; stores that need no index for locks create none.
  /// Affects speed only.
  /// @throws StoreException
  void EnsureIndexes(const std::vector<Filter>& searches = {}) const {
    documents().EnsureIndexes(searches);
  }
  /// Returns what shows, breaks and tidies the collection's locks.
  [[nodiscard]] LockAdmin Admin() const { return {manager(), documents().binding()}; }
  /// @}

  // Errors in words, for arguments in the wrong place.
  using Misplaced::Lock, Misplaced::TryLock, Misplaced::LockAll, Misplaced::TryLockAll,
      Misplaced::LockNext, Misplaced::TryLockNext, Misplaced::With, Misplaced::Update;

 private:
  friend class Transaction;
  template <class>
  friend class Worker;
  using AsyncRepository<T>::documents;
};

}  // namespace doclock
