#pragma once

/// @file
/// What the verbs of a LockingRepository do. Not for users.

#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"
#include "doclock/detail/misuse.h"
#include "doclock/entity_traits.h"
#include "doclock/lock_all.h"
#include "doclock/lock_manager.h"
#include "doclock/locked.h"

namespace doclock::detail {

template <class T>
class Documents;

/// Makes the snapshot of a row.
template <class T>
struct WrapRow {
  BindingPtr binding;
  Snapshot<T> operator()(QueryRow row) const {
    return Documents<T>::Shown(binding, std::move(row));
  }
};

/// The documents of one collection. Makes an operation (async.h) of what a verb is given, to
/// be run here or asynchronously.
template <class T>
class Documents {
 public:
  using Wrap = WrapGrant<Locked<T>>;
  using LockOp = LockOperation<Wrap>;

  Documents(LockManager manager, const std::string& name, RepositoryOptions options)
      : manager_(std::move(manager)),
        binding_(BindDocuments(manager_, name, std::move(options), DefaultNames<T>())) {}

  /// @throws std::logic_error for one that was moved from
  [[nodiscard]] const BindingPtr& binding() const {
    if (!binding_) ThrowMovedFrom("LockingRepository");
    return binding_;
  }
  [[nodiscard]] const EnginePtr& engine() const { return binding()->engine; }
  [[nodiscard]] Collection& collection() const { return *binding()->collection; }
  [[nodiscard]] const LockManager& manager() const {
    static_cast<void>(binding());
    return manager_;
  }

  // Locks.
  [[nodiscard]] LockOp Lock(Target<T> target, const LockOptions& options) const {
    Body initial = InitialOf(target);
    return {SpecFor(*binding(), options, target.key(), std::move(initial)), Wrap{binding()}};
  }
  [[nodiscard]] LockOp LockNext(const Filter& filter, const LockOptions& options) const {
    return {SpecFor(*binding(), options, Stored(filter)), Wrap{binding()}, true};
  }
  [[nodiscard]] LockAllOperation<Wrap> LockAll(std::vector<Key> keys,
                                               const LockOptions& options) const {
    return {SpecsFor(SpecFor(*binding(), options, Key()), std::move(keys)), Wrap{binding()}};
  }
  [[nodiscard]] LockTarget<Locked<T>> At(Target<T> target) const {
    return {binding(),
            [binding = binding(), key = target.key(), initial = InitialOf(target)](
                const LockOptions& options) { return SpecFor(*binding, options, key, initial); }};
  }
  [[nodiscard]] ValueReleaseOperation ReleaseLock(const T& entity) const {
    return {engine(), ReleaseOf(entity)};
  }

  // Reads.
  [[nodiscard]] ReadOperation<WrapRow<T>> Find(Key key) const {
    return {std::move(key), WrapRow<T>{binding()}};
  }
  [[nodiscard]] QueryOperation<WrapRow<T>> Find(const Filter& filter) const {
    return {Stored(filter), WrapRow<T>{binding()}};
  }
  template <class F>
  void ForEach(const Filter& filter, F&& f) const;

  // Writes without a lock.
  struct SavedFn {
    std::int64_t operator()(const SaveResult& result) const;
  };
  struct ErasedFn {
    bool operator()(const SaveResult& result) const;
  };
  struct CheckedFn {
    void operator()(const SaveResult& result) const { ThrowIf(result.failure); }
  };
  struct FollowFn {
    Snapshot<T>* snapshot;
    Body body;
    void operator()(const SaveResult& result) const;
  };
  struct TryFollowFn {
    FollowFn follow;
    bool operator()(const SaveResult& result) const;
  };
  [[nodiscard]] SaveOperation<SavedFn> Insert(Target<T> target) const {
    return {engine(), InsertSpec(std::move(target)), {}};
  }
  [[nodiscard]] SaveOperation<ErasedFn> Erase(Key key) const {
    return {engine(), EraseSpec(std::move(key)), {}};
  }
  [[nodiscard]] SaveOperation<CheckedFn> Erase(const Snapshot<T>& snapshot) const {
    return {engine(), EraseSpec(snapshot), {}};
  }
  [[nodiscard]] SaveOperation<FollowFn> Save(Snapshot<T>& snapshot) const {
    SaveSpec spec = ReplaceSpec(snapshot);
    FollowFn follow{&snapshot, spec.body};
    return {engine(), std::move(spec), std::move(follow)};
  }
  [[nodiscard]] SaveOperation<TryFollowFn> TrySave(Snapshot<T>& snapshot) const {
    SaveSpec spec = ReplaceSpec(snapshot);
    TryFollowFn follow{{&snapshot, spec.body}};
    return {engine(), std::move(spec), std::move(follow)};
  }
  /// @param f points to what is called
  template <class P>
  [[nodiscard]] UpdateSpec Update(Target<T> target, P f) const;

  template <class F>
  [[nodiscard]] UpdateOperation UpdateLater(Target<T> target, F f) const {
    return {binding(), Update(std::move(target), std::make_shared<F>(std::move(f)))};
  }

  // Indexes.
  void EnsureIndex(std::vector<std::string> fields, bool unique) const {
    EnsureIndexOf(*binding(), Codec<T>::StoredFields(std::move(fields)), unique);
  }
  void EnsureIndexes(const std::vector<Filter>& searches) const {
    std::vector<Filter> stored;
    for (const Filter& search : searches) stored.push_back(Stored(search));
    EnsureIndexesOf(*binding(), stored);
  }

  // The requests themselves, for Transaction.
  [[nodiscard]] SaveSpec InsertSpec(Target<T> target) const;
  [[nodiscard]] SaveSpec EraseSpec(Key key) const;
  [[nodiscard]] SaveSpec EraseSpec(const Snapshot<T>& snapshot) const;
  [[nodiscard]] SaveSpec ExpectSpec(const Snapshot<T>& snapshot) const;
  [[nodiscard]] SaveSpec ReplaceSpec(const Snapshot<T>& snapshot) const;
  [[nodiscard]] ValueRelease ReleaseOf(const T& entity) const;

  // Work under a lock.
  template <class F>
  static auto RunWith(Locked<T> handle, F&& f);
  /// `self` keeps the LockManager open.
  template <class F>
  static ResultOf<F&, T&> RunWithAsync(Documents self, LockOp op, F f);

  /// The snapshot of a row.
  static Snapshot<T> Shown(const BindingPtr& binding, QueryRow row) {
    return Snapshot<T>(*binding->collection, std::move(row));
  }

 private:
  static Filter Stored(const Filter& filter) { return Codec<T>::StoredFilter(filter); }
  /// What a missing document is created from; empty: it must exist.
  [[nodiscard]] Body InitialOf(const Target<T>& target) const {
    if (!target.entity()) return {};
    return Codec<T>::Fresh(collection(), target.key(), *target.entity());
  }

  LockManager manager_;
  BindingPtr binding_;
};

template <class T>
template <class F>
void Documents<T>::ForEach(const Filter& filter, F&& f) const {
  static_assert(MarkedCheck<F&, Snapshot<T>&>::value);
  static_assert(CallableSomehow<F&, Snapshot<T>&>,
                "doclock: f cannot be called with a Snapshot. Write it as [](Snapshot<T>& "
                "snapshot) { ... }; the entity is *snapshot.");
  using Result = ResultOf<F&, Snapshot<T>&>;
  static_assert(WalkCheck<Result>::value);
  Query(engine(), collection(), Stored(filter), [&](QueryRow&& row) -> bool {
    Snapshot<T> snapshot = Shown(binding(), std::move(row));
    if constexpr (std::is_void_v<Result>) {
      std::invoke(f, snapshot);
      return true;
    } else {
      return std::invoke(f, snapshot);
    }
  });
}

template <class T>
std::int64_t Documents<T>::SavedFn::operator()(const SaveResult& result) const {
  ThrowIf(result.failure);
  return result.version;
}
template <class T>
bool Documents<T>::ErasedFn::operator()(const SaveResult& result) const {
  if (IsMissing(result.failure)) return false;
  ThrowIf(result.failure);
  return true;
}
template <class T>
void Documents<T>::FollowFn::operator()(const SaveResult& result) const {
  ThrowIf(result.failure);
  snapshot->Follow(body, result.version);
}
template <class T>
bool Documents<T>::TryFollowFn::operator()(const SaveResult& result) const {
  if (IsOvertaken(result.failure)) return false;
  follow(result);
  return true;
}

template <class T>
SaveSpec Documents<T>::InsertSpec(Target<T> target) const {
  SaveSpec spec;
  spec.collection = &collection();
  spec.save = SaveKind::kInsert;
  spec.body = InitialOf(target);
  spec.key = target.key();
  return spec;
}
template <class T>
SaveSpec Documents<T>::EraseSpec(Key key) const {
  SaveSpec spec;
  spec.collection = &collection();
  spec.save = SaveKind::kErase;
  spec.key = std::move(key);
  return spec;
}
template <class T>
SaveSpec Documents<T>::EraseSpec(const Snapshot<T>& snapshot) const {
  SaveSpec spec = EraseSpec(snapshot.key());
  spec.expected = snapshot.version();
  spec.born = snapshot.row_.born;
  return spec;
}
template <class T>
SaveSpec Documents<T>::ExpectSpec(const Snapshot<T>& snapshot) const {
  SaveSpec spec = EraseSpec(snapshot);
  spec.save = SaveKind::kExpect;
  return spec;
}
template <class T>
SaveSpec Documents<T>::ReplaceSpec(const Snapshot<T>& snapshot) const {
  SaveSpec spec = EraseSpec(snapshot);
  spec.save = SaveKind::kReplace;
  spec.base = snapshot.row_.body;
  spec.body = Codec<T>::Over(collection(), snapshot.key(), spec.base, *snapshot);
  return spec;
}
template <class T>
ValueRelease Documents<T>::ReleaseOf(const T& entity) const {
  const LockFields& fields = entity.*(EntityTraits<T>::kLockFields);
  Key key = detail::KeyOf(entity);
  Body body = Codec<T>::Fresh(collection(), key, entity);
  return {&collection(), std::move(key), fields.id.value_or(Uuid{}), fields.version,
          std::move(body)};
}

template <class T>
template <class P>
UpdateSpec Documents<T>::Update(Target<T> target, P f) const {
  auto edit = [f, key = target.key(), collection = binding()->collection](const Body& base) {
    T entity = Codec<T>::Read(*collection, key, base);
    std::invoke(*f, entity);
    return Codec<T>::Over(*collection, key, base, entity);
  };
  return {target.key(), std::move(edit), InitialOf(target)};
}

template <class T>
template <class F>
auto Documents<T>::RunWith(Locked<T> handle, F&& f) {
  if constexpr (std::is_void_v<ResultOf<F, T&>>) {
    std::invoke(std::forward<F>(f), *handle);
    handle.Release();
  } else {
    decltype(auto) result = std::invoke(std::forward<F>(f), *handle);
    handle.Release();
    return std::decay_t<decltype(result)>(std::forward<decltype(result)>(result));
  }
}

template <class T>
template <class F>
ResultOf<F&, T&> Documents<T>::RunWithAsync(Documents self, LockOp op, F f) {
  using Awaitable = ResultOf<F&, T&>;
  using Token = boost::asio::use_awaitable_t<typename Awaitable::executor_type>;
  Locked<T> handle = co_await Initiate(self.engine(), std::move(op), Token());
  if constexpr (std::is_void_v<typename Awaitable::value_type>) {
    co_await std::invoke(f, *handle);
    co_await handle.ReleaseAsync(Token());
  } else {
    auto result = co_await std::invoke(f, *handle);
    co_await handle.ReleaseAsync(Token());
    co_return result;
  }
}

}  // namespace doclock::detail
