#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "doclock/export.h"
#include "doclock/store.h"

namespace doclock {

/// Opens a store by its URL.
///
/// - `memory:` : OpenMemoryStore.
/// - `sqlite:PATH` : OpenSqliteStore. Options after a `?`, joined by `&`: `sync=full|normal|off`,
///   `create=true|false`, `local_only=true|false`, `busy_timeout_ms=N`, `max_pages=N`. A `?`, `%`
///   or `#` in the path is written %3F, %25, %23.
///
/// @throws std::invalid_argument for an unknown scheme (naming those there are), an unknown option
/// or a bad value (naming it). The URL itself, which may hold a password, is never repeated.
/// @throws StoreException
DOCLOCK_EXPORT std::shared_ptr<Store> OpenStore(std::string_view url);

/// May opening a store make what is missing?
enum class OpenMode : std::uint8_t {
  kAsTheUrlSays,  ///< What OpenStore(url) does.
  kExisting,      ///< A SQLite store makes neither the file nor tables, whatever `create` says.
};

/// As above. @throws NotFoundException later, from Store::Open, for a collection that is missing
/// (kExisting).
DOCLOCK_EXPORT std::shared_ptr<Store> OpenStore(std::string_view url, OpenMode mode);

}  // namespace doclock
