#pragma once

#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "doclock/detail/update.h"
#include "doclock/duration.h"
#include "doclock/locking_repository.h"

/// @file
/// Update: several documents, read, changed and stored together.

namespace doclock {

/// How documents are updated together. Checked before anything is sent: std::invalid_argument names
/// the field.
struct UpdateOptions {
  /// How long all attempts, and the wait for locks, may take together; zero: no wait. None: the
  /// shortest RepositoryOptions::update_wait of the documents. A call of the store that is under
  /// way then, or an `f`, is not cut short.
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
/// Returns what `f` returned. A document that `f` leaves unchanged is not written, and the commit
/// expects it to be as it was read (Transaction::Expect): so a decision may rest on it. A missing
/// document whose target has an entity is inserted by the commit, and not before. If `f` neither
/// changes nor adds anything, nothing is sent.
///
/// If another client was quicker, it begins again. After RepositoryOptions::update_retries attempts
/// (the least of the documents), or when it meets a lock, it takes the locks of the documents that
/// exist, as LockAll, and releases them in the commit: so it makes progress.
///
/// So **f may be called several times**, each time with fresh entities and an empty transaction,
/// and must not have other effects. It may only add to the transaction: `Insert`, `Outbox::Add`,
/// `Inbox::Accept`, `Join`. What it adds takes effect behind the documents. It must not lock or
/// update the documents: it would wait for itself. An exception of `f` ends the update, and nothing
/// is written. What refuses something that `f` added (DuplicateMessageException), or a unique
/// index, ends it too. Once the outcome of a commit is in doubt, `f` is not called again:
/// InDoubtException.
///
/// Thread-safe. Keep a repository or the LockManager meanwhile.
/// @throws std::invalid_argument for a document that is named twice or is of another LockManager,
/// and for bad options
/// @throws std::logic_error if `f` commits the transaction
/// @throws NotFoundException for a missing document without an entity
/// @throws LockException kTimedOut or kBusy if the locks were not available in time, kCancelled
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
/// `f(std::vector<T*>, Transaction&)` with the entities in the order of the keys.
template <class T, class F>
auto Update(const LockingRepository<T>& repository, const std::vector<Key>& keys, F&& f,
            const UpdateOptions& options = {}, std::stop_token stop = {}) {
  std::vector<detail::UpdatedDocument> documents;
  documents.reserve(keys.size());
  for (const Key& key : keys) documents.push_back(detail::ToUpdate(repository.At(key)));
  return detail::UpdateList<T>(f, options.within, std::move(stop), std::move(documents));
}

}  // namespace doclock
