#pragma once

/// @file
/// The part of Update of several documents that is behind its overloads. Not for users.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/engine.h"
#include "doclock/detail/facade.h"
#include "doclock/detail/misuse.h"
#include "doclock/lock_all.h"
#include "doclock/locked.h"
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
