#pragma once

/// @file
/// What all templates have in common, and T to body and back. Not for users.

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/detail/engine.h"
#include "doclock/entity_traits.h"
#include "doclock/lock_manager.h"

namespace doclock::detail {

/// A collection and the engine that locks in it. It does not keep the LockManager open.
struct Binding {
  EnginePtr engine;
  std::shared_ptr<Collection> collection;
  RepositoryOptions options;
};
using BindingPtr = std::shared_ptr<const Binding>;

/// Checks the options and opens the collection.
DOCLOCK_EXPORT BindingPtr Bind(const LockManager&, const std::string& name, RepositoryOptions,
                               LockFieldNames default_names);

/// Checks the options and opens a collection of documents. @throws StoreException kRefused if the
/// collection holds only locks
DOCLOCK_EXPORT BindingPtr BindDocuments(const LockManager&, const std::string& name,
                                        RepositoryOptions, LockFieldNames default_names);

/// MakeSpec for a key, and the body to create a missing document with (none: it must exist).
DOCLOCK_EXPORT AcquireSpec SpecFor(const Binding&, const LockOptions&, Key key, Body insert = {});
/// MakeSpec for AcquireNext.
DOCLOCK_EXPORT AcquireSpec SpecFor(const Binding&, const LockOptions&, Filter filter);

/// Checks the depth of a tree that is about to be copied, because copying is recursive.
/// @throws DocumentException naming the document, if it is nested too deep
DOCLOCK_EXPORT void CheckDepth(const Collection&, const Key&, const nlohmann::json& tree);
/// `tree` as a body, checked; see CheckBody for `base`. @throws DocumentException naming the
/// document
DOCLOCK_EXPORT Body Seal(const Collection&, const Key&, nlohmann::json tree, const Body& base);
DOCLOCK_EXPORT Body Seal(const Collection&, const Key&, Body body, const Body& base);
/// The tree of a stored body; an empty object for a document that has none (a named lock).
DOCLOCK_EXPORT const nlohmann::json& TreeOf(const Body&);
/// The key as JSON: text or a number.
DOCLOCK_EXPORT nlohmann::json KeyToJson(const Key&);
/// Puts the key into T's JSON form.
DOCLOCK_EXPORT void PutKey(nlohmann::json& tree, std::string_view field, nlohmann::json key);
/// Takes the key out of T's JSON form. @throws std::invalid_argument if it is another key.
DOCLOCK_EXPORT void TakeKey(nlohmann::json& tree, std::string_view field,
                            const nlohmann::json& key);
/// @throws std::invalid_argument naming both, if they differ.
DOCLOCK_EXPORT void CheckSameKey(const Key& given, const Key& of_entity);

/// Makes a T of a tree, and drops it.
using Reading = std::function<void(const nlohmann::json& tree)>;
/// Inside a catch block: throws DocumentException with the caught text, and the name of the member
/// of `tree` that could not be read, if `read` tells; rethrows std::bad_alloc. `tree` may be null.
[[noreturn]] DOCLOCK_EXPORT void ThrowUnreadable(const Collection&, const Key&,
                                                 const nlohmann::json* tree, const Reading& read);
[[noreturn]] DOCLOCK_EXPORT void ThrowEmptyHandle();
[[noreturn]] DOCLOCK_EXPORT void ThrowUnsettled();
/// Is it kBusy or kTimedOut?
[[nodiscard]] DOCLOCK_EXPORT bool IsBusy(const FailurePtr&) noexcept;
/// Did no free document match: kBusy, kTimedOut or kNotFound?
[[nodiscard]] DOCLOCK_EXPORT bool IsNothingFree(const FailurePtr&) noexcept;
/// ThrowIf for LockNext: IsNothingFree becomes NotFoundException, whether it waited or not.
DOCLOCK_EXPORT void ThrowIfNext(const FailurePtr&);
/// Did another client come first: a live lock, or another version (not a unique index)?
[[nodiscard]] DOCLOCK_EXPORT bool IsOvertaken(const FailurePtr&) noexcept;
[[nodiscard]] DOCLOCK_EXPORT bool IsMissing(const FailurePtr&) noexcept;

/// Ends one asynchronous operation early. Thread-safe.
class DOCLOCK_EXPORT Canceller {
 public:
  Canceller() = default;
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;
  /// Ends the wait it follows, now or as soon as it follows one.
  void Cancel() noexcept;
  /// From now on Cancel ends this wait; at once if Cancel was called already. A wait that is over
  /// does not replace the current one.
  void Follow(AcquireHandle);

 private:
  std::mutex mutex_;
  AcquireHandle handle_;
  bool cancelled_ = false;
};
using CancellerPtr = std::shared_ptr<Canceller>;
/// Runs a task where the user's code for one asynchronous operation runs.
using Poster = std::function<void(std::function<void()>)>;
/// What an asynchronous operation knows about its caller.
struct AsyncContext {
  CancellerPtr canceller;
  Poster post;
};

/// `spec` for each of the keys, sorted and unique.
DOCLOCK_EXPORT std::vector<AcquireSpec> SpecsFor(const AcquireSpec& spec, std::vector<Key> keys);
/// @throws std::invalid_argument naming one that is of another LockManager than the first
DOCLOCK_EXPORT void CheckOneManager(std::span<const BindingPtr>);
/// Several locks, in the order of the specs.
struct AcquireAllResult {
  FailurePtr failure;
  std::vector<Grant> grants;
};
/// Takes all locks or none, in the order of all clients, under one timeout. Only key, collection
/// and what belongs to it differ between the specs. @throws std::invalid_argument naming a document
/// that occurs twice
DOCLOCK_EXPORT AcquireAllResult AcquireAll(const EnginePtr&, std::vector<AcquireSpec>,
                                           std::stop_token);
DOCLOCK_EXPORT void AcquireAllAsync(const EnginePtr&, std::vector<AcquireSpec>, AsyncContext,
                                    std::function<void(AcquireAllResult)> done);

/// How to change one document.
struct UpdateSpec {
  Key key;
  /// Makes the new body from the stored one; may throw, and may be called several times.
  std::function<Body(const Body& base)> edit;
  Body initial;  ///< What a missing document is before the edit; none: it must exist.
};
DOCLOCK_EXPORT void UpdateDocument(const Binding&, const UpdateSpec&, std::stop_token);
DOCLOCK_EXPORT void UpdateDocumentAsync(const BindingPtr&, UpdateSpec, AsyncContext,
                                        std::function<void(std::exception_ptr)> done);

DOCLOCK_EXPORT void EnsureIndexOf(const Binding&, std::vector<std::string> fields, bool unique);
DOCLOCK_EXPORT void EnsureIndexesOf(const Binding&, const std::vector<Filter>& searches);
/// See LockAdmin::Purge.
DOCLOCK_EXPORT std::int64_t PurgeAll(const Binding&);

template <class T>
concept UpgradingEntity = requires(nlohmann::json& body) { EntityTraits<T>::Upgrade(body); };

template <class T>
LockFieldNames DefaultNames() {
  if constexpr (requires { EntityTraits<T>::GetLockFieldNames(); }) {
    return EntityTraits<T>::GetLockFieldNames();
  } else {
    return {};
  }
}

template <class T>
struct Codec {
  using Traits = EntityTraits<T>;
  static constexpr bool kMapsKey = KeyedEntity<T> && !Traits::kKeyField.empty();
  static constexpr bool kReadsAsStored = !kMapsKey && !UpgradingEntity<T>;

  /// T's own part of the body: its JSON form without the key. @throws std::invalid_argument
  static nlohmann::json Write(const Collection& collection, const Key& key, const T& entity) {
    if constexpr (std::same_as<T, nlohmann::json>) CheckDepth(collection, key, entity);
    if constexpr (KeyedEntity<T>) CheckSameKey(key, Key(Traits::GetKey(entity)));
    nlohmann::json tree = Traits::ToJson(entity);
    if constexpr (kMapsKey) TakeKey(tree, Traits::kKeyField, KeyAsJson(key));
    return tree;
  }

  /// The body of a document that does not exist yet.
  static Body Fresh(const Collection& collection, const Key& key, const T& entity) {
    if constexpr (std::same_as<T, Body>) {
      return Seal(collection, key, entity, Body());
    } else {
      return Seal(collection, key, Write(collection, key, entity), Body());
    }
  }

  /// The body that follows `base`: T's fields as they are now, and those T does not know as they
  /// were.
  static Body Over(const Collection& collection, const Key& key, const Body& base,
                   const T& entity) {
    if constexpr (std::same_as<T, Body>) {
      return Seal(collection, key, entity, base);
    } else {
      nlohmann::json tree = Write(collection, key, entity);
      if (HoldsMore(detail::TreeOf(base), tree))
        tree = Merged(key, detail::TreeOf(base), std::move(tree));
      return Seal(collection, key, std::move(tree), base);
    }
  }

  /// T from a stored body. @throws DocumentException
  static T Read(const Collection& collection, const Key& key, const Body& body) {
    nlohmann::json upgraded;
    const nlohmann::json* tree = nullptr;
    try {
      tree = &detail::TreeOf(body);
      if constexpr (!kReadsAsStored) {
        upgraded = Upgraded(key, *tree);
        tree = &upgraded;
      }
      if constexpr (std::same_as<T, Body>) {
        return body ? body : Body::FromJson(*tree);
      } else {
        return Traits::FromJson(*tree);
      }
    } catch (...) {
      ThrowUnreadable(collection, key, tree,
                      [](const nlohmann::json& changed) { (void)Traits::FromJson(changed); });
    }
  }

  /// The filter as a store takes it: T's name for the key stands for the key.
  /// @throws std::invalid_argument as WithKeyField does
  static Filter StoredFilter(const Filter& filter) {
    if constexpr (kMapsKey) {
      return WithKeyField(filter, Traits::kKeyField,
                          std::same_as<typename KeyTypeOf<T>::type, Uuid>);
    } else {
      return WithKeyField(filter, Filter::kKeyField, false);
    }
  }
  /// The names of fields in the same way.
  static std::vector<std::string> StoredFields(std::vector<std::string> fields) {
    if constexpr (kMapsKey) {
      std::replace(fields.begin(), fields.end(), std::string(Traits::kKeyField),
                   std::string(Filter::kKeyField));
    }
    return fields;
  }

 private:
  static nlohmann::json KeyAsJson(const Key& key) {
    if constexpr (requires { Traits::KeyToJson(key); }) {
      return Traits::KeyToJson(key);
    } else if constexpr (std::same_as<typename KeyTypeOf<T>::type, Key> &&
                         std::constructible_from<nlohmann::json,
                                                 const typename KeyTypeOf<T>::type&>) {
      // Both depend on T: the form of a Key may be declared after this header.
      const typename KeyTypeOf<T>::type& same = key;
      return nlohmann::json(same);  // the one form of a Key, as T writes it
    } else {
      return KeyToJson(key);
    }
  }

  /// A stored body in T's JSON form of today.
  static nlohmann::json Upgraded(const Key& key, nlohmann::json tree) {
    if constexpr (kMapsKey) PutKey(tree, Traits::kKeyField, KeyAsJson(key));
    if constexpr (UpgradingEntity<T>) {
      Traits::Upgrade(tree);
      if constexpr (kMapsKey) PutKey(tree, Traits::kKeyField, KeyAsJson(key));
    }
    return tree;
  }

  /// MergeBody, with what T made of the stored body. Worked out only now, because nearly every
  /// release finds no field in the document that T does not write.
  static nlohmann::json Merged(const Key& key, const nlohmann::json& stored, nlohmann::json fresh) {
    const nlohmann::json upgraded = Upgraded(key, stored);
    const T then = Traits::FromJson(upgraded);
    return MergeBody({stored, upgraded, Traits::ToJson(then)}, std::move(fresh));
  }
};

template <class T>
void FillLockFields(T& entity, const Lease& lease) {
  if constexpr (LockCarryingEntity<T>) {
    LockFields& fields = entity.*(EntityTraits<T>::kLockFields);
    fields.id = LeaseLockId(lease);
    fields.time = LeaseTime(lease);
    fields.version = LeaseVersion(lease);
  }
}

template <class T>
void ClearLockFields(T& entity, std::int64_t version) {
  if constexpr (LockCarryingEntity<T>) {
    entity.*(EntityTraits<T>::kLockFields) = LockFields{std::nullopt, std::nullopt, version};
  }
}

}  // namespace doclock::detail
