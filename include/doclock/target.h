#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "doclock/entity_traits.h"

namespace doclock {

/// The document that a verb of LockingRepository is about. It is made of what a caller passes:
///
/// ```cpp
/// orders.Lock("42");                // a key: the document must exist
/// orders.Lock(Order{"42"});         // an entity that knows its key: creates what is missing
/// notes.Lock({"42", Note{"new"}});  // a key and an entity: the same for a T without a key
/// ```
///
/// A stored body always wins over the entity. Where T knows its key, a key that differs from it is
/// std::invalid_argument.
///
/// An argument, not to be kept: it refers to the entity.
template <class T>
class Target {
 public:
  /// A key: what EntityTraits<T>::GetKey returns, or a Key. @throws std::invalid_argument as Key
  /// does
  template <class A>
    requires(!std::same_as<std::remove_cvref_t<A>, Target> &&
             !std::same_as<std::remove_cvref_t<A>, T>)
  Target(A&& key)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : key_(detail::KeyArg<T>(std::forward<A>(key)).Take()) {}
  /// An entity that knows its key.
  template <std::same_as<T> E>
  Target(const E& entity)  // NOLINT(google-explicit-constructor)
      : key_(detail::KeyOf(entity)), entity_(&entity) {}
  /// A key and an entity.
  template <std::same_as<T> E>
  Target(detail::KeyArg<T> key, const E& entity) : key_(std::move(key).Take()), entity_(&entity) {}

  /// Returns the key.
  [[nodiscard]] const Key& key() const noexcept { return key_; }
  /// Returns the entity; null: only a key was passed.
  [[nodiscard]] const T* entity() const noexcept { return entity_; }

 private:
  Key key_;
  const T* entity_ = nullptr;
};

}  // namespace doclock
