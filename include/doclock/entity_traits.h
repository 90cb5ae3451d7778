#pragma once

/// @file
/// How a C++ type becomes a document, and back; how a verb is given one.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "doclock/document.h"
#include "doclock/options.h"

namespace doclock {

/// The lock's data that an entity can carry, so that another thread or process can release the lock
/// with the entity alone. Make it a member, and name that member in `EntityTraits<T>::kLockFields`.
///
/// The library fills it when a lock is granted and after each Save, and empties `id` and `time`
/// when the lock is released. It is not part of T's JSON form, because the store keeps the lock
/// elsewhere: leave it out of the NLOHMANN_DEFINE_TYPE macro. A member that the macro names is
/// stored in the body like any other (`doclock/json/lock_fields.h` gives it a form, for messages),
/// with the id of a lock that is over by then.
struct LockFields {
  /// The grant's id; empty means not locked, and a release by value is refused.
  std::optional<Uuid> id;
  /// Wall time of the grant; diagnostic only.
  std::optional<std::chrono::system_clock::time_point> time;
  /// The document's version after the last grant or write this entity knows of.
  std::int64_t version = 0;
  /// Compares all three.
  friend bool operator==(const LockFields&, const LockFields&) = default;
};

}  // namespace doclock

namespace doclock::detail {

/// Returns a value's JSON form. (The constructor of nlohmann::json leaks what was converted before
/// `to_json` threw, before version 3.11.3.) Out of memory, what was converted is leaked all the
/// same: a tree that could not allocate says that it is an object, and has none to destroy.
template <class T>
nlohmann::json ToJson(const T& value) {
  using Json = nlohmann::json;
  union Tree {
    Tree() noexcept : json() {}
    ~Tree() {}
    Json json;
  } tree;
  try {
    nlohmann::adl_serializer<T>::to_json(tree.json, value);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    tree.json.~Json();
    throw;
  }
  Json made = std::move(tree.json);
  tree.json.~Json();
  return made;
}

}  // namespace doclock::detail

namespace doclock {

/// What the library does with a T unless EntityTraits is specialised for it: nlohmann::json's own
/// conversions (`to_json` and `from_json`, the NLOHMANN_DEFINE_TYPE macros, or an
/// `adl_serializer`), and a public member `id` as the key.
///
/// A specialisation of EntityTraits derives from this and overrides by name what differs:
///
/// - `static nlohmann::json ToJson(const T&)` and `static T FromJson(const nlohmann::json&)`: for
///   foreign types, and types that cannot be moved.
/// - `static auto GetKey(const T&)`: returns a string, an integer, a Uuid or an ObjectId.
/// - `static constexpr std::string_view kKeyField`: see below.
/// - `static nlohmann::json KeyToJson(const Key&)`: the key as it stands in T's JSON form.
/// - `static constexpr auto kLockFields = &T::member`: where T keeps its LockFields.
/// - `static void Upgrade(nlohmann::json&)`: turns an older stored form into today's. It is called
///   on every body that was read, in T's JSON form, before FromJson.
/// - `static LockFieldNames GetLockFieldNames()`: other names for the lock's fields, unless
///   RepositoryOptions gives some.
///
/// They must not keep references to their arguments, and must be safe to call from several threads
/// at once. Asynchronous verbs call Upgrade and FromJson where their handler runs. With
/// `use_future` that is a thread of the library or of the store, or a thread inside a call of the
/// library (Release() hands its lock to the next waiter): there they must not block.
///
/// FromJson and Upgrade must have no other effects. To name the member of a document that cannot be
/// read, FromJson is called again, up to 200 times, with changed values in the member's place.
template <class T>
struct DefaultEntityTraits {
  /// The name of the key in T's JSON form. A document's key is not repeated in its body: the
  /// library takes this field out before storing and puts it back before reading. Empty: T's JSON
  /// form does not hold its key. Not used without a GetKey.
  static constexpr std::string_view kKeyField = "id";

  /// T's JSON form.
  static nlohmann::json ToJson(const T& entity)
    requires std::constructible_from<nlohmann::json, const T&>
  {
    if constexpr (std::same_as<T, nlohmann::json>) {
      return entity;
    } else {
      return detail::ToJson(entity);
    }
  }

  /// Returns a T from its JSON form.
  static T FromJson(const nlohmann::json& body)
    requires(std::move_constructible<T> && requires { body.template get<T>(); })
  {
    return body.template get<T>();
  }

  /// Returns the entity's key.
  static auto GetKey(const T& entity)
    requires requires { Key(entity.id); }
  {
    return entity.id;
  }
};

/// How T becomes a document, and back; see DefaultEntityTraits. If the defaults do not fit,
/// specialise it in the namespace doclock.
template <class T>
struct EntityTraits : DefaultEntityTraits<T> {};

/// A Body is an entity too: the whole document as it is stored, with all digits of its numbers.
template <>
struct EntityTraits<Body> : DefaultEntityTraits<Body> {
  /// Returns the body's tree.
  static nlohmann::json ToJson(const Body& body) { return body.json(); }
  /// Returns a body that has this tree.
  static Body FromJson(const nlohmann::json& tree) { return Body::FromJson(tree); }
};

/// T has a JSON form.
template <class T>
concept WritableEntity = requires(const T& entity) {
  { EntityTraits<T>::ToJson(entity) } -> std::convertible_to<nlohmann::json>;
};

/// T can be made from its JSON form.
template <class T>
concept ReadableEntity = requires(const nlohmann::json& body) {
  { EntityTraits<T>::FromJson(body) } -> std::same_as<T>;
};

/// A type whose objects can be documents: enough for every verb that is given a key.
template <class T>
concept Entity = std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>> && WritableEntity<T> &&
                 ReadableEntity<T>;

/// An Entity that knows its own key.
template <class T>
concept KeyedEntity = Entity<T> && requires(const T& entity) {
  { EntityTraits<T>::GetKey(entity) } -> std::convertible_to<Key>;
};

/// An Entity that carries its LockFields.
template <class T>
concept LockCarryingEntity = Entity<T> && requires(T& entity) {
  { entity.*(EntityTraits<T>::kLockFields) } -> std::same_as<LockFields&>;
};

namespace detail {

/// Says in words what T lacks; a constraint would say it with template arguments.
template <class T>
struct EntityCheck {
  static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>>,
                "doclock: an entity is a plain object type, without const, volatile or &.");
  static_assert(WritableEntity<T>,
                "doclock: this type has no JSON form. Give it NLOHMANN_DEFINE_TYPE_INTRUSIVE or a "
                "to_json function, or specialise doclock::EntityTraits<T> with ToJson.");
  static_assert(ReadableEntity<T>,
                "doclock: this type cannot be made from JSON. Give it from_json and a default "
                "constructor, or an nlohmann::adl_serializer<T> whose from_json returns a T, or "
                "specialise doclock::EntityTraits<T> with FromJson (needed if T cannot be moved).");
  static constexpr bool value = true;
};

/// Says in words what a T lacks whose key only the caller can know.
template <class T>
struct KnownKeyCheck {
  static_assert(KeyedEntity<T>,
                "doclock: this type does not tell its key. Pass the key too (Lock({key, entity}), "
                "Insert(key, entity)); or give "
                "the type a public member id (a text, an integer, a Uuid or an ObjectId), or "
                "specialise doclock::EntityTraits<T> with GetKey.");
  static constexpr bool value = true;
};

template <class T>
struct KeyTypeOf {
  using type = Key;
};
template <class T>
  requires requires(const T& entity) { EntityTraits<T>::GetKey(entity); }
struct KeyTypeOf<T> {
  using type = std::remove_cvref_t<decltype(EntityTraits<T>::GetKey(std::declval<const T&>()))>;
};

/// The key that an entity knows.
template <class T>
Key KeyOf(const T& entity) {
  static_assert(KnownKeyCheck<T>::value);
  if constexpr (KeyedEntity<T>) {
    return Key(EntityTraits<T>::GetKey(entity));
  } else {
    return {};
  }
}

/// May a caller pass an A where T's keys are Ks? A Key is always allowed.
template <class A, class K>
concept KeyArgument =
    std::same_as<std::remove_cvref_t<A>, Key> ||
    (!std::same_as<std::remove_cvref_t<A>, std::nullptr_t> &&
     ((std::same_as<K, Key> && std::convertible_to<A, Key>) ||
      (std::integral<K> && std::integral<std::remove_cvref_t<A>> && std::convertible_to<A, Key>) ||
      (std::convertible_to<K, std::string_view> && std::convertible_to<A, std::string_view>) ||
      std::same_as<std::remove_cvref_t<A>, K>));

/// A key argument for a T: the type of T's keys converts to it, and a Key does. With string keys
/// `Lock(0)` and `Lock(nullptr)` do not compile; with integer keys `Lock("42")` does not. The error
/// is a sentence.
template <class T>
class KeyArg {
 public:
  /// Converts. @throws std::invalid_argument as Key does.
  template <class A>
    requires KeyArgument<A, typename KeyTypeOf<T>::type>
  KeyArg(A&& key)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : key_(Convert(std::forward<A>(key))) {}
  /// Says what is wrong with any other argument. Traits therefore say that everything converts, on
  /// purpose: the compiler's error is a sentence, not a list of candidates.
  template <class A>
    requires(!KeyArgument<A, typename KeyTypeOf<T>::type> &&
             !std::same_as<std::remove_cvref_t<A>, KeyArg>)
  KeyArg(A&&) {  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    static_assert(!std::same_as<std::remove_cvref_t<A>, T> || !KeyedEntity<T>,
                  "doclock: this verb takes the key, not the entity");
    if constexpr (std::same_as<std::remove_cvref_t<A>, T> && !KeyedEntity<T>) {
      static_assert(KnownKeyCheck<T>::value);
    }
    static_assert(std::same_as<std::remove_cvref_t<A>, T>,
                  "doclock: this argument is no key of this entity's. Pass what "
                  "EntityTraits<T>::GetKey returns (text for a text key, an integer for an integer "
                  "key), or make a doclock::Key of it.");
  }

  /// Gives the key away.
  [[nodiscard]] Key Take() && { return std::move(key_); }

 private:
  template <class A>
  static Key Convert(A&& key) {
    if constexpr (std::convertible_to<A, Key>) {
      return Key(std::forward<A>(key));
    } else {
      return Key(std::string_view(key));
    }
  }

  Key key_;
};

}  // namespace detail

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
