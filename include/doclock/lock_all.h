#pragma once

/// @file
/// LockAll: documents of several repositories, and named locks, all locked or none.

#include <array>
#include <concepts>
#include <functional>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"
#include "doclock/options.h"

namespace doclock {

namespace detail {
template <class T>
class Documents;
}

/// One lock for LockAll to take: what LockingRepository::At and LockProvider::At return. `Handle`
/// is what it is held by: Locked<T> or HeldLock.
///
/// A small value. It does not keep the LockManager open.
template <class Handle>
class LockTarget {
 public:
  /// Returns the request for this lock. Not for users.
  [[nodiscard]] detail::AcquireSpec Spec(const LockOptions& options) const {
    return spec_(options);
  }
  /// Returns where it is. Not for users.
  [[nodiscard]] const detail::BindingPtr& binding() const noexcept { return binding_; }
  /// Makes the handle of a granted lock. Not for users.
  [[nodiscard]] static Handle Wrap(const detail::BindingPtr& binding, detail::Grant grant) {
    return Handle(binding, std::move(grant));
  }

 private:
  template <class T>
  friend class detail::Documents;
  friend class LockProvider;
  using MakeSpec = std::function<detail::AcquireSpec(const LockOptions&)>;

  LockTarget(detail::BindingPtr binding, MakeSpec spec)
      : binding_(std::move(binding)), spec_(std::move(spec)) {}

  detail::BindingPtr binding_;
  MakeSpec spec_;
};

namespace detail {

/// Makes the handle of a granted lock.
template <class Handle>
struct WrapGrant {
  BindingPtr binding;
  Handle operator()(Grant grant) const {
    return LockTarget<Handle>::Wrap(binding, std::move(grant));
  }
};

/// Takes a lock for each of the handles.
template <class... Handles>
struct LockTargetsOperation {
  using Raw = AcquireAllResult;
  using Result = std::tuple<Handles...>;
  std::array<BindingPtr, sizeof...(Handles)> bindings;  ///< All belong to one engine.
  std::vector<AcquireSpec> specs;

  [[nodiscard]] const EnginePtr& engine() const noexcept { return bindings.front()->engine; }
  AcquireAllResult Run(std::stop_token stop) {
    return AcquireAll(engine(), std::move(specs), std::move(stop));
  }
  void Start(const AsyncContext& context, std::function<void(AcquireAllResult)> done) {
    AcquireAllAsync(engine(), std::move(specs), context, std::move(done));
  }
  Result Finish(Raw&& raw) {
    ThrowIf(raw.failure);
    return Handled(raw.grants, std::index_sequence_for<Handles...>());
  }

 private:
  template <std::size_t... I>
  Result Handled(std::vector<Grant>& grants, std::index_sequence<I...>) const {
    return Result{LockTarget<Handles>::Wrap(bindings[I], std::move(grants[I]))...};
  }
};

template <class... Handles>
LockTargetsOperation<Handles...> LockTargets(const LockOptions& options,
                                             const LockTarget<Handles>&... targets) {
  LockTargetsOperation<Handles...> op{{targets.binding()...}, {targets.Spec(options)...}};
  CheckOneManager(op.bindings);
  return op;
}

template <class T>
inline constexpr bool kIsLockTarget = false;
template <class Handle>
inline constexpr bool kIsLockTarget<LockTarget<Handle>> = true;

/// What LockAll and TryLockAll return for arguments in another order: always an error, in words.
template <class... Arguments>
struct MisplacedOptions {
  static_assert(sizeof...(Arguments) == 0,
                "doclock: the options come first, then the stop token if there is one, then the "
                "locks: LockAll({.wait = 5s}, token, orders.At(\"42\"), locks.At(\"name\")). Pass "
                "{} for the default options.");
};

template <class Op, class Token>
auto LockElsewhere(Op op, Token&& token) {
  const EnginePtr engine = op.engine();
  return Initiate(engine, std::move(op), std::forward<Token>(token));
}

}  // namespace detail

/// Locks all or none, documents of several repositories and named locks:
///
/// ```cpp
/// auto [saga, from, to] =
///     doclock::LockAll({.wait = 5s}, sagas.At("42"), accounts.At("a"), accounts.At("b"));
/// ```
///
/// Returns the handles in the order of the arguments. It takes the locks in one order of all
/// processes, by the names of the collections and then by the keys, so that no callers deadlock,
/// and all under one timeout (`wait`). While one is not available, it keeps the others, and renews
/// their leases, for LockOptions::hold_while_waiting at most. The options hold for each of the
/// locks; without a `ttl` each has that of its repository.
///
/// Thread-safe. If it throws, all locks are released, and the error names the document that failed.
/// @throws std::invalid_argument for a document that is named twice, one of another LockManager,
/// and bad options, before anything is sent
/// @throws what LockingRepository::Lock and LockProvider::Acquire throw
template <class... Handles>
  requires(sizeof...(Handles) > 0)
[[nodiscard]] std::tuple<Handles...> LockAll(const LockOptions& options, std::stop_token stop,
                                             const LockTarget<Handles>&... targets) {
  return detail::RunHere(detail::LockTargets(options, targets...), std::move(stop));
}
/// LockAll() without a stop token.
template <class... Handles>
  requires(sizeof...(Handles) > 0)
[[nodiscard]] std::tuple<Handles...> LockAll(const LockOptions& options,
                                             const LockTarget<Handles>&... targets) {
  return LockAll(options, std::stop_token(), targets...);
}

/// LockAll() that returns nothing if a lock is busy.
template <class... Handles>
  requires(sizeof...(Handles) > 0)
[[nodiscard]] std::optional<std::tuple<Handles...>> TryLockAll(
    const LockOptions& options, std::stop_token stop, const LockTarget<Handles>&... targets) {
  return detail::RunHere(detail::TryAllOperation{detail::LockTargets(options, targets...)},
                         std::move(stop));
}
/// TryLockAll() without a stop token.
template <class... Handles>
  requires(sizeof...(Handles) > 0)
[[nodiscard]] std::optional<std::tuple<Handles...>> TryLockAll(
    const LockOptions& options, const LockTarget<Handles>&... targets) {
  return TryLockAll(options, std::stop_token(), targets...);
}

/// @cond
// Errors in words.
template <class First, class... Rest>
  requires(std::same_as<Rest, std::stop_token> || ...)
detail::MisplacedOptions<First, Rest...> LockAll(const LockOptions&, const First&, const Rest&...) {
  return {};
}
template <class First, class... Rest>
  requires(std::same_as<First, std::stop_token> || detail::kIsLockTarget<First>)
detail::MisplacedOptions<First, Rest...> LockAll(const First&, const Rest&...) {
  return {};
}
template <std::same_as<std::stop_token> Stop, class... Handles>
detail::MisplacedOptions<Stop, Handles...> LockAll(const Stop&, const LockOptions&,
                                                   const LockTarget<Handles>&...) {
  return {};
}
template <class First, class... Rest>
  requires(std::same_as<Rest, std::stop_token> || ...)
detail::MisplacedOptions<First, Rest...> TryLockAll(const LockOptions&, const First&,
                                                    const Rest&...) {
  return {};
}
template <class First, class... Rest>
  requires(std::same_as<First, std::stop_token> || detail::kIsLockTarget<First>)
detail::MisplacedOptions<First, Rest...> TryLockAll(const First&, const Rest&...) {
  return {};
}
template <std::same_as<std::stop_token> Stop, class... Handles>
detail::MisplacedOptions<Stop, Handles...> TryLockAll(const Stop&, const LockOptions&,
                                                      const LockTarget<Handles>&...) {
  return {};
}
/// @endcond

/// LockAll() with a completion token of signature `void(std::exception_ptr,
/// std::tuple<Handles...>)`; see LockingRepository. Per-operation cancellation ends the wait.
template <class Token, class... Handles>
  requires(sizeof...(Handles) > 0 &&
           detail::TokenFor<std::remove_cvref_t<Token>, std::tuple<Handles...>>)
auto LockAllAsync(const LockOptions& options, Token&& token,
                  const LockTarget<Handles>&... targets) {
  return detail::LockElsewhere(detail::LockTargets(options, targets...),
                               std::forward<Token>(token));
}
/// LockAll() that returns a std::future.
template <class... Handles>
  requires(sizeof...(Handles) > 0)
auto LockAllAsync(const LockOptions& options, const LockTarget<Handles>&... targets) {
  return LockAllAsync(options, detail::DefaultToken(), targets...);
}

/// TryLockAll() with a completion token of signature `void(std::exception_ptr,
/// std::optional<std::tuple<Handles...>>)`.
template <class Token, class... Handles>
  requires(sizeof...(Handles) > 0 &&
           detail::TokenFor<std::remove_cvref_t<Token>, std::optional<std::tuple<Handles...>>>)
auto TryLockAllAsync(const LockOptions& options, Token&& token,
                     const LockTarget<Handles>&... targets) {
  return detail::LockElsewhere(detail::TryAllOperation{detail::LockTargets(options, targets...)},
                               std::forward<Token>(token));
}
/// TryLockAll() that returns a std::future.
template <class... Handles>
  requires(sizeof...(Handles) > 0)
auto TryLockAllAsync(const LockOptions& options, const LockTarget<Handles>&... targets) {
  return TryLockAllAsync(options, detail::DefaultToken(), targets...);
}

}  // namespace doclock
