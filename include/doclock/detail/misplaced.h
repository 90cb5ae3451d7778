#pragma once

#include <concepts>
#include <optional>
#include <stop_token>
#include <vector>

#include "doclock/detail/callable.h"
#include "doclock/filter.h"
#include "doclock/locked.h"
#include "doclock/target.h"

/// @file
/// Says in words where an argument belongs that stands in the wrong place. Not for users.

namespace doclock::detail {

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
