#pragma once

/// @file
/// Says in words why a verb cannot use a callable, and where an argument belongs that stands in the
/// wrong place. Not for users.

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <concepts>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/entity_traits.h"
#include "doclock/filter.h"
#include "doclock/locked.h"
#include "doclock/options.h"

namespace doclock::detail {

/// Does a value of this type stand for work that may not be done yet: a coroutine or a future?
template <class R>
concept Unfinished = requires(R& r) { r.await_ready(); } || requires(R& r) {
  r.wait();
  r.get();
} || requires(R&& r) { std::forward<R>(r).operator co_await(); } || requires(R&& r) {
  operator co_await(std::forward<R>(r));
} || requires { typename R::promise_type; };

/// Is it no entity? Asked of a function before another argument is taken for a completion token.
template <class F, class T>
concept NoEntity = !std::same_as<std::remove_cvref_t<F>, T>;

/// Does F have a call operator for exactly this parameter? Deduction alone tells whether a template
/// fits: its body is not instantiated.
template <class F, class R, class Parameter>
concept CallOperatorFor = requires { static_cast<R (F::*)(Parameter)>(&F::operator()); };
template <class F, class R, class Parameter>
concept ConstCallOperatorFor = requires { static_cast<R (F::*)(Parameter) const>(&F::operator()); };

/// What is called when an F is called: what a std::reference_wrapper refers to, or the F itself.
template <class F>
struct Called
    : std::conditional<std::is_reference_v<std::unwrap_reference_t<std::remove_cvref_t<F>>>,
                       std::unwrap_reference_t<std::remove_cvref_t<F>>, F> {};

/// Can an F (const, or a reference), called with a T&, change the T? Tells a parameter `T&`,
/// `auto&` or `auto&&` from `T`, `const T&` and `auto`. Where the parameter cannot be seen
/// (std::bind, overloads of a base), an F that takes an rvalue as well does not need the entity
/// itself.
template <class F, class T, class R>
constexpr bool CanChange() {
  using Object = std::remove_cvref_t<F>;
  constexpr bool kConst = std::is_const_v<std::remove_reference_t<F>>;
  if constexpr (std::is_member_object_pointer_v<Object>) {
    return false;
  } else if constexpr (std::is_member_function_pointer_v<Object>) {
    return !std::invocable<F, const T&>;
  } else if constexpr (std::is_bind_expression_v<Object>) {
    return !std::invocable<F, T>;
  } else if constexpr (!kConst && CallOperatorFor<Object, R, T>) {
    return false;
  } else if constexpr (!kConst && CallOperatorFor<Object, R, T&>) {
    return true;
  } else if constexpr (ConstCallOperatorFor<Object, R, T>) {
    return false;
  } else if constexpr (ConstCallOperatorFor<Object, R, T&>) {
    return true;
  } else {
    return !std::invocable<F, T>;
  }
}

/// Can what is called be called with A, if it is an lvalue or an rvalue, and not const?
template <class F, class... A>
concept CallableSomehow = std::invocable<std::remove_cvref_t<typename Called<F>::type>, A...> ||
                          std::invocable<std::remove_cvref_t<typename Called<F>::type>&, A...>;

/// What F returns when it is called with A; void if it cannot be called.
template <class F, class... A>
using Result = std::conditional_t<std::invocable<F, A...>, std::invoke_result<F, A...>,
                                  std::type_identity<void>>;
template <class F, class... A>
using ResultOf = typename Result<F, A...>::type;

// These are always true. The first error of one that does not hold is a sentence.

/// Is f called as what its call operator is marked for?
template <class F, class... A>
struct MarkedCheck {
  static_assert(
      std::invocable<F, A...> || !CallableSomehow<F, A...>,
      "doclock: the call operator of f is marked & or &&, or is not const, and f is not "
      "called as that. (With calls it as it is given, the other verbs as an lvalue.) Mark "
      "the operator const, without & and &&, or give an f that fits.");
  static constexpr bool value = true;
};

/// Can F change the entity that it is given?
template <class F, class T>
struct EditCheck {
  using Callee = typename Called<F>::type;
  static_assert(CallableSomehow<F, T&>,
                "doclock: f cannot be called with the entity. It takes the entity by reference and "
                "nothing else: [](T& entity) { ... }");
  static_assert(MarkedCheck<F, T&>::value);
  static_assert(!std::invocable<F, T&> || CanChange<Callee, T, ResultOf<F, T&>>(),
                "doclock: f takes the entity by value or as const, so it cannot change what is "
                "stored. Take the entity by reference: [](T& entity) { ... } or [](auto& entity) "
                "{ ... }. To read only, use Find.");
  static constexpr bool value = true;
};

template <class... P>
struct Parameters {};

/// Is F a function, or does it have a call operator, for exactly these parameters?
template <class F, class R, class... P>
concept TakesExactly = (std::is_pointer_v<F> && std::is_convertible_v<F, R (*)(P...)>) || requires {
  static_cast<R (F::*)(P...)>(&F::operator());
} || requires { static_cast<R (F::*)(P...) const>(&F::operator()); };

enum class Taken { kUnseen, kByReference, kByValue };

/// How does F take P, and then each A? The order of the tries counts: `auto` fits a reference as
/// well, and the body of an f with `auto&` may not compile for a const A.
template <class F, class R, Taken kSoFar, class... P>
constexpr Taken HowTaken(Parameters<P...> /*tried*/, Parameters<> /*rest*/) {
  return TakesExactly<F, R, P...> ? kSoFar : Taken::kUnseen;
}
template <class F, class R, Taken kSoFar, class... P, class A, class... Others>
constexpr Taken HowTaken(Parameters<P...> /*tried*/, Parameters<A, Others...> /*rest*/) {
  using T = std::remove_reference_t<A>;
  using Rest = Parameters<Others...>;
  constexpr Taken kCopied = std::is_reference_v<A> ? Taken::kByValue : kSoFar;
  if constexpr (constexpr Taken kTaken = HowTaken<F, R, kCopied>(Parameters<P..., T>(), Rest());
                kTaken != Taken::kUnseen) {
    return kTaken;
  } else if constexpr (constexpr Taken kRef =
                           HowTaken<F, R, kSoFar>(Parameters<P..., T&>(), Rest());
                       kRef != Taken::kUnseen) {
    return kRef;
  } else {
    return HowTaken<F, R, kSoFar>(Parameters<P..., const T&>(), Rest());
  }
}

/// Does f take no entity by value? Where its parameters cannot be seen, it is believed.
template <class F, class... A>
struct ByReferenceCheck {
  using Object = std::decay_t<typename Called<F>::type>;
  static_assert(HowTaken<Object, ResultOf<F, A...>, Taken::kByReference>(Parameters<>(),
                                                                         Parameters<A...>()) !=
                    Taken::kByValue,
                "doclock: f takes an entity by value, so what it changes of it is lost. Take each "
                "entity by reference: T& or auto&, or const T& to only read it.");
  static constexpr bool value = true;
};

/// Is the work of an f with this result done when it returns?
template <class Result>
struct FinishedCheck {
  static_assert(!Unfinished<std::remove_cvref_t<Result>>,
                "doclock: f is a coroutine or returns a future, so its work would go on without "
                "the lock. Give a coroutine to WithAsync; any other f returns when its work is "
                "done.");
  static constexpr bool value = true;
};

/// Does f change its T in place? (A part of a JSON document is a JSON value, too.)
template <class Result, class T>
struct InPlaceCheck {
  static_assert(!std::same_as<std::remove_cv_t<Result>, T> || std::same_as<T, nlohmann::json>,
                "doclock: f returns a new entity, which is not stored. Change the entity that f is "
                "given, and return nothing. (For a copy of what is stored, let f return it by "
                "reference, and a coroutine assign it to a variable outside.)");
  static constexpr bool value = true;
};

/// Does Update lose nothing with this result: no entity, no operation that was not started?
template <class Result>
struct NothingLostCheck {
  static_assert(!std::is_class_v<Result> || Unfinished<Result>,
                "doclock: f returns an object, which Update would throw away. Change the entity "
                "that f is given, and return nothing. With returns what f returns.");
  static constexpr bool value = true;
};

/// Is it a coroutine's result that WithAsync can wait for, and is the work done then?
template <class Result>
struct CoroutineCheck {
  static_assert(!std::same_as<Result, Result>,
                "doclock: f is no coroutine. WithAsync takes one that returns "
                "boost::asio::awaitable; With takes any other function.");
  using Value = void;
  static constexpr bool value = true;
};
template <class V, class Executor>
struct CoroutineCheck<boost::asio::awaitable<V, Executor>> {
  using Value = V;
  static constexpr bool value = FinishedCheck<V>::value;
};

/// Do With, WithAsync and Update take this f for a T?
template <class F, class T>
inline constexpr bool kFitsWith = EditCheck<F, T>::value && FinishedCheck<ResultOf<F, T&>>::value &&
                                  InPlaceCheck<ResultOf<F, T&>, T>::value;
template <class F, class T>
inline constexpr bool kFitsWithAsync =
    EditCheck<F&, T>::value && CoroutineCheck<ResultOf<F&, T&>>::value &&
    InPlaceCheck<typename CoroutineCheck<ResultOf<F&, T&>>::Value, T>::value;
template <class F, class T>
inline constexpr bool kFitsUpdate =
    EditCheck<F&, T>::value && FinishedCheck<ResultOf<F&, T&>>::value &&
    NothingLostCheck<ResultOf<F&, T&>>::value;

/// Is the result of ForEach's f nothing, or exactly a bool?
template <class Result>
struct WalkCheck {
  static_assert(std::is_void_v<Result> || std::same_as<std::remove_cvref_t<Result>, bool>,
                "doclock: f returns neither void nor bool. Let it return false to end the walk, "
                "true to go on, or nothing.");
  static constexpr bool value = true;
};

/// Is it a type of the members of LockOptions, or of what converts to them?
template <class V>
inline constexpr bool kIsOption = std::is_arithmetic_v<V>;
template <>
inline constexpr bool kIsOption<Duration> = true;
template <>
inline constexpr bool kIsOption<LockMode> = true;
template <class Rep, class Period>
inline constexpr bool kIsOption<std::chrono::duration<Rep, Period>> = true;

/// Takes what was passed in place of the options: a stop token, or an option without its name.
struct MisplacedStop {
  /// Always an error, in words.
  template <std::same_as<std::stop_token> Stop>
  MisplacedStop(const Stop&) {  // NOLINT(google-explicit-constructor)
    static_assert(!std::same_as<Stop, std::stop_token>,
                  "doclock: the stop token comes after the options. Pass {} for the default "
                  "options: Lock(key, {}, token). Asynchronous verbs take no stop token, but end "
                  "with the completion token's cancellation.");
  }
  /// Always an error, in words.
  template <class V>
    requires kIsOption<V>
  MisplacedStop(const V&) {  // NOLINT(google-explicit-constructor)
    static_assert(!kIsOption<V>,
                  "doclock: an option has a name. Pass the options in braces: Lock(key, {.wait = "
                  "5s})");
  }
};

/// Takes an entity that was passed beside its key.
template <class T>
struct MisplacedEntity {
  /// Always an error, in words.
  template <std::same_as<T> E>
  MisplacedEntity(const E&) {  // NOLINT(google-explicit-constructor)
    static_assert(!std::same_as<E, T>,
                  "doclock: a key and an entity go together, in braces: Lock({key, entity})");
  }
};

/// Verbs that are never called: each takes what belongs elsewhere, and its conversion is an error
/// in words.
template <class T>
class MisplacedArguments {
 public:
  Locked<T> Lock(Target<T>, MisplacedStop) const;
  std::optional<Locked<T>> TryLock(Target<T>, MisplacedStop) const;
  Locked<T> LockNext(const Filter&, MisplacedStop) const;
  std::optional<Locked<T>> TryLockNext(const Filter&, MisplacedStop) const;
  std::vector<Locked<T>> LockAll(const std::vector<Key>&, MisplacedStop) const;
  std::optional<std::vector<Locked<T>>> TryLockAll(const std::vector<Key>&, MisplacedStop) const;
  template <class F>
  void With(Target<T>, F&&, MisplacedStop) const;

  void LockAsync(Target<T>, MisplacedStop) const;
  void TryLockAsync(Target<T>, MisplacedStop) const;
  void LockNextAsync(const Filter&, MisplacedStop) const;
  void TryLockNextAsync(const Filter&, MisplacedStop) const;
  void LockAllAsync(const std::vector<Key>&, MisplacedStop) const;
  void TryLockAllAsync(const std::vector<Key>&, MisplacedStop) const;
  template <class F>
  void WithAsync(Target<T>, F, MisplacedStop) const;

  using Entity = MisplacedEntity<T>;
  Locked<T> Lock(Target<T>, Entity, const LockOptions& = {}, std::stop_token = {}) const;
  std::optional<Locked<T>> TryLock(Target<T>, Entity, const LockOptions& = {},
                                   std::stop_token = {}) const;
  template <class F>
  void With(Target<T>, Entity, F&&, const LockOptions& = {}, std::stop_token = {}) const;
  template <class F>
  void Update(Target<T>, Entity, F&&, std::stop_token = {}) const;

  template <class... Token>
  void LockAsync(Target<T>, Entity, const LockOptions& = {}, Token&&...) const;
  template <class Token>
  void LockAsync(Target<T>, Entity, Token&&) const;
  template <class... Token>
  void TryLockAsync(Target<T>, Entity, const LockOptions& = {}, Token&&...) const;
  template <class F>
  void WithAsync(Target<T>, Entity, F, const LockOptions& = {}) const;
  template <class F, class... Token>
  void UpdateAsync(Target<T>, Entity, F, Token&&...) const;
};

}  // namespace doclock::detail
