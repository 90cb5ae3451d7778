#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "doclock/detail/operations.h"
#include "doclock/lock_all.h"
#include "doclock/locking_repository.h"
#include "doclock/snapshot.h"

/// @file
/// Read: documents of several repositories, as they were at one moment.

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

}  // namespace doclock
