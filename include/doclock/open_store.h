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
/// @throws std::invalid_argument for an unknown scheme (naming the known ones), an unknown option
/// or a bad value (naming it). The text never repeats the URL, which may hold a password.
/// @throws StoreException
DOCLOCK_EXPORT std::shared_ptr<Store> OpenStore(std::string_view url);

/// May opening a store create what is missing?
enum class OpenMode : std::uint8_t {
  kAsTheUrlSays,  ///< What OpenStore(url) does.
  kExisting,      ///< A SQLite store creates neither the file nor tables, even with `create=true`.
};

/// As above. With kExisting, Store::Open throws NotFoundException for a missing collection.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenStore(std::string_view url, OpenMode mode);

}  // namespace doclock
