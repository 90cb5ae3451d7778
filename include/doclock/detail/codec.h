#pragma once

#include <algorithm>
#include <concepts>
#include <string>
#include <vector>

#include "doclock/detail/facade.h"
#include "doclock/entity_traits.h"

/// @file
/// Turns a T into a body and back. Not for users.

namespace doclock::detail {

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
