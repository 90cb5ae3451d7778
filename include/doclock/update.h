#pragma once

/// @file
/// Read and Update of several documents, as of one moment.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"
#include "doclock/detail/facade.h"
#include "doclock/detail/misuse.h"
#include "doclock/lock_all.h"
#include "doclock/locked.h"
#include "doclock/locking_repository.h"
#include "doclock/time.h"
#include "doclock/transaction.h"

namespace doclock::detail {

/// A document of an update of several.
struct UpdatedDocument {
  BindingPtr binding;
  Key key;
  Body initial;  ///< What a missing document is before the edit; none: it must exist.
};

/// What an edit is given of a document.
struct EditedFrom {
  Body body;
  std::int64_t version = 0;
};

/// What an edit makes of a document.
struct Edited {
  Body before;  ///< What the entity is stored as if it is left alone.
  Body after;
};

struct UpdateTogetherSpec {
  std::vector<UpdatedDocument> documents;  ///< At least one.
  /// Returns what it makes of each document, and adds to the transaction. It may throw, and may be
  /// called several times.
  std::function<std::vector<Edited>(const std::vector<EditedFrom>&, Transaction&)> edit;
  std::optional<Duration> within;
};
DOCLOCK_EXPORT void UpdateTogether(const UpdateTogetherSpec&, std::stop_token);

template <class Handle>
UpdatedDocument ToUpdate(const LockTarget<Handle>& target) {
  AcquireSpec spec = target.Spec({});
  return {target.binding(), std::move(spec.key), std::move(spec.insert)};
}

/// A document while f edits it.
template <class T>
class Editing {
 public:
  Editing(const UpdatedDocument& document, const EditedFrom& from)
      : document_(document),
        from_(from),
        entity_(new T(Codec<T>::Read(*document.binding->collection, document.key, from.body))) {
    ClearLockFields(*entity_, from.version);
    before_ = Stored();
  }
  [[nodiscard]] T* entity() const noexcept { return entity_.get(); }
  [[nodiscard]] Edited Result() const { return {before_, Stored()}; }

 private:
  [[nodiscard]] Body Stored() const {
    return Codec<T>::Over(*document_.binding->collection, document_.key, from_.body, *entity_);
  }

  const UpdatedDocument& document_;
  const EditedFrom& from_;
  std::unique_ptr<T> entity_;  ///< On the heap, because T need not be movable.
  Body before_;
};

/// Keeps what the last call of an f returned.
template <class R>
struct LastResult {
  std::optional<R> value;
  template <class Call>
  void Keep(const Call& call) {
    value.reset();
    value.emplace(call());
  }
  R Take() { return std::move(*value); }
};
template <>
struct LastResult<void> {
  template <class Call>
  void Keep(const Call& call) {
    call();
  }
  void Take() {}
};

/// Can f be called with these, and is its work done then?
template <class F, class... A>
struct JointEditCheck {
  static_assert(CallableSomehow<F&, A...>,
                "doclock: f cannot be called with the entities and a transaction. Write it as "
                "[](A& a, B& b, doclock::Transaction& transaction) { ... }; for a list of keys as "
                "[](std::vector<T*> entities, doclock::Transaction& transaction) { ... }");
  static_assert(MarkedCheck<F&, A...>::value);
  static_assert(ByReferenceCheck<F&, A...>::value);
  static_assert(FinishedCheck<ResultOf<F&, A...>>::value);
  using Result = std::decay_t<ResultOf<F&, A...>>;
  static_assert((!std::convertible_to<Result, const std::remove_reference_t<A>*> && ...),
                "doclock: f returns a pointer to an entity, which is gone when Update returns. "
                "Return a copy.");
};

/// Updates the documents of these targets.
template <class F, class... T>
auto UpdateTargets(F& f, std::optional<Duration> within, std::stop_token stop,
                   const LockTarget<Locked<T>>&... targets) {
  LastResult<typename JointEditCheck<F, T&..., Transaction&>::Result> result;
  UpdateTogetherSpec spec{{ToUpdate(targets)...}, {}, within};
  const std::vector<UpdatedDocument>& documents = spec.documents;
  spec.edit = [&](const std::vector<EditedFrom>& from, Transaction& transaction) {
    std::size_t i = 0;
    // In braces they are evaluated in order.
    const std::tuple<Editing<T>...> all{[&] {
      const std::size_t at = i++;
      return Editing<T>(documents[at], from[at]);
    }()...};
    return std::apply(
        [&](const Editing<T>&... one) {
          result.Keep(
              [&]() -> decltype(auto) { return std::invoke(f, *one.entity()..., transaction); });
          return std::vector<Edited>{one.Result()...};
        },
        all);
  };
  UpdateTogether(spec, std::move(stop));
  return result.Take();
}

/// Updates documents of one type.
template <class T, class F>
auto UpdateList(F& f, std::optional<Duration> within, std::stop_token stop,
                std::vector<UpdatedDocument> documents) {
  LastResult<typename JointEditCheck<F, std::vector<T*>, Transaction&>::Result> result;
  UpdateTogetherSpec spec{std::move(documents), {}, within};
  spec.edit = [&](const std::vector<EditedFrom>& from, Transaction& transaction) {
    std::vector<Editing<T>> all;
    std::vector<T*> given;
    for (std::size_t i = 0; i < from.size(); ++i) {
      given.push_back(all.emplace_back(spec.documents[i], from[i]).entity());
    }
    result.Keep([&]() -> decltype(auto) { return std::invoke(f, std::move(given), transaction); });
    std::vector<Edited> edited;
    for (const Editing<T>& one : all) edited.push_back(one.Result());
    return edited;
  };
  UpdateTogether(spec, std::move(stop));
  return result.Take();
}

}  // namespace doclock::detail

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
