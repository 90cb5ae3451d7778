#pragma once

/// @file
/// Read and Update of several documents, as of one moment.

#include <cstddef>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"
#include "doclock/detail/facade.h"
#include "doclock/detail/misuse.h"
#include "doclock/detail/update.h"
#include "doclock/lock_all.h"
#include "doclock/locked.h"
#include "doclock/locking_repository.h"
#include "doclock/time.h"
#include "doclock/transaction.h"

namespace doclock {

/// Reads documents of several repositories of one LockManager as they were at one moment: of a
/// Transaction it shows all writes or none.
///
/// ```cpp
/// auto [saga, from, to] = doclock::Read(sagas.At("42"), accounts.At("a"), accounts.At("b"));
/// ```
///
/// Returns a snapshot for each argument, or nothing for a document that is missing. It waits for no
/// lock, and is one call of the store. Thread-safe.
/// @throws std::invalid_argument for a document of another LockManager, DocumentException,
/// StoreException (kRefused from a store that cannot: a MongoDB server without a replica set)
template <class... T>
  requires(sizeof...(T) > 0)
[[nodiscard]] std::tuple<std::optional<Snapshot<T>>...> Read(
    const LockTarget<Locked<T>>&... documents) {
  const detail::BindingPtr bindings[] = {documents.binding()...};
  detail::CheckOneManager(bindings);
  std::vector<detail::ReadSpec> specs;
  (specs.push_back({bindings[specs.size()]->collection.get(), documents.Spec({}).key}), ...);
  std::vector<Key> keys;
  for (const detail::ReadSpec& spec : specs) keys.push_back(spec.key);
  std::vector<detail::ReadResult> read =
      detail::ReadTogether(bindings[0]->engine, std::move(specs));
  std::size_t i = 0;
  // In braces they are evaluated in order.
  return std::tuple<std::optional<Snapshot<T>>...>{[&]() -> std::optional<Snapshot<T>> {
    const std::size_t at = i++;
    if (detail::IsMissing(read[at].failure)) return std::nullopt;
    detail::ThrowIf(read[at].failure);
    return detail::Documents<T>::Shown(
        bindings[at], QueryRow{std::move(keys[at]), std::move(read[at].body), read[at].version,
                               read[at].born, read[at].locked});
  }()...};
}

/// How documents are updated together. Checked before anything is sent: std::invalid_argument names
/// the field.
struct UpdateOptions {
  /// How long all attempts, and the wait for locks, may take together; zero: one attempt, which
  /// waits for no lock. None: the shortest RepositoryOptions::update_wait of the documents. A call
  /// of the store that is under way then, or an `f`, is not cut short.
  std::optional<Duration> within = std::nullopt;
};

/// Reads the documents as they were at one moment, calls `f(A&, Transaction&)`, and stores in one
/// commit what `f` changed of the entities and what it added to the transaction:
///
/// ```cpp
/// doclock::Update(accounts.At("a"), accounts.At("b"),
///                 [&](Account& a, Account& b, doclock::Transaction& transaction) {
///                   inbox.Accept(transaction, message.id);
///                   a.balance -= 30;
///                   b.balance += 30;
///                 });
/// ```
///
/// Returns what `f` returned. `f` takes each entity by reference, those that it only reads as const
/// if it likes. A document that `f` leaves unchanged is not written, and the commit expects it to
/// be as it was read (Transaction::Expect): so a decision may rest on it. What `f` reads itself, as
/// by Find, is not expected: name it here too, or Expect it. A missing document whose target has an
/// entity is inserted by the commit, and not before, also if `f` leaves the entity as it is. If
/// nothing is changed, added or inserted, no commit is sent.
///
/// If another client was quicker, it begins again. After RepositoryOptions::update_retries attempts
/// (the least of the documents), or when a document to be written is locked, it takes the locks of
/// all documents that exist, also of those that `f` leaves unchanged, as LockAll, and releases them
/// in the commit: so it makes progress.
///
/// So **f may be called several times**, each time with fresh entities and an empty transaction,
/// and must not have other effects. It may add Insert, Expect, Erase of a snapshot, ReleaseLock,
/// `Outbox::Add`, `Inbox::Accept` and `Join`. The documents are written first, then what `f` added,
/// in its order. `f` must not lock or update the documents: it would wait for itself.
///
/// An exception of `f` ends the update, and nothing is written. So does what refuses something that
/// `f` added (for an Insert of an existing key ConflictException, whose index() is empty: to create
/// or change a document, name a target with an entity), and a unique index. If the reply to a
/// commit is lost and doclock cannot prove what happened, Update throws InDoubtException; it does
/// not begin again once a commit was in doubt.
///
/// There are forms for one to four documents, and for a list of one repository. For more of several
/// types use LockAll and a Transaction.
///
/// Thread-safe. A repository or the LockManager must stay alive until Update returns: targets keep
/// neither.
/// @throws std::invalid_argument for a document that is named twice or is of another LockManager,
/// and for bad options
/// @throws std::logic_error if `f` commits the transaction, or adds the write of a handle or the
/// save of a snapshot
/// @throws NotFoundException before `f`, for a missing document without an entity
/// @throws LockException kTimedOut, or kBusy without a wait, if a lock was not available in time;
/// kCancelled
/// @throws ConflictException if other clients were quicker until the time was over
/// @throws what `f` and Transaction::Commit throw, DocumentException, StoreException (kRefused from
/// a store without transactions)
template <class A, class F>
auto Update(const LockTarget<Locked<A>>& a, F&& f, const UpdateOptions& options = {},
            std::stop_token stop = {}) {
  return detail::UpdateTargets(f, options.within, std::move(stop), a);
}
/// Updates two documents as that of one does, with `f(A&, B&, Transaction&)`.
template <class A, class B, class F>
auto Update(const LockTarget<Locked<A>>& a, const LockTarget<Locked<B>>& b, F&& f,
            const UpdateOptions& options = {}, std::stop_token stop = {}) {
  return detail::UpdateTargets(f, options.within, std::move(stop), a, b);
}
/// Updates three documents as that of one does, with `f(A&, B&, C&, Transaction&)`.
template <class A, class B, class C, class F>
auto Update(const LockTarget<Locked<A>>& a, const LockTarget<Locked<B>>& b,
            const LockTarget<Locked<C>>& c, F&& f, const UpdateOptions& options = {},
            std::stop_token stop = {}) {
  return detail::UpdateTargets(f, options.within, std::move(stop), a, b, c);
}
/// Updates four documents as that of one does, with `f(A&, B&, C&, D&, Transaction&)`.
template <class A, class B, class C, class D, class F>
auto Update(const LockTarget<Locked<A>>& a, const LockTarget<Locked<B>>& b,
            const LockTarget<Locked<C>>& c, const LockTarget<Locked<D>>& d, F&& f,
            const UpdateOptions& options = {}, std::stop_token stop = {}) {
  return detail::UpdateTargets(f, options.within, std::move(stop), a, b, c, d);
}

/// Updates documents of one repository, which must exist, as the forms for targets do: calls
/// `f(std::vector<T*>, Transaction&)` with the entities in the order of `keys`, which is not
/// sorted. No key, or one twice, is std::invalid_argument.
template <class T, class F>
auto Update(const LockingRepository<T>& repository, const std::vector<Key>& keys, F&& f,
            const UpdateOptions& options = {}, std::stop_token stop = {}) {
  std::vector<detail::UpdatedDocument> documents;
  documents.reserve(keys.size());
  for (const Key& key : keys) documents.push_back(detail::ToUpdate(repository.At(key)));
  return detail::UpdateList<T>(f, options.within, std::move(stop), std::move(documents));
}

}  // namespace doclock
