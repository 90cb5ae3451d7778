#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "doclock/export.h"
#include "doclock/store.h"
#include "doclock/store/opener.h"

namespace doclock {

/// Opens a store by its URL.
///
/// - `memory:` : OpenMemoryStore.
/// - `sqlite:PATH` : OpenSqliteStore. Options after a `?`, joined by `&`: `sync=full|normal|off`,
///   `create=true|false`, `local_only=true|false`, `busy_timeout_ms=N`, `max_pages=N`. A `?`, `%`
///   or `#` in the path is written %3F, %25, %23.
/// - `postgresql://HOST/DATABASE`, `postgres://HOST/DATABASE` : OpenPostgresqlStore.
/// - `mongodb://HOSTS/DATABASE`, `mongodb+srv://HOST/DATABASE` : OpenMongodbStore.
/// - any other scheme: the opener that was registered with RegisterScheme.
///
/// Thread-safe.
/// @throws std::invalid_argument for an unknown scheme (naming the known ones), an unknown option
/// or a bad value (naming it). The text never repeats the URL, which may hold a password.
/// @throws StoreException; kRefused also if the store is a module (CMake option
/// DOCLOCK_STORE_MODULES) that is not installed or not of this build
DOCLOCK_EXPORT std::shared_ptr<Store> OpenStore(std::string_view url);

/// Opens a store by its URL; `mode` says what may be created. The memory store ignores it.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenStore(std::string_view url, OpenMode mode);

/// Makes OpenStore call `opener` for URLs that begin with `scheme` and a colon, until the program
/// ends. For stores that doclock does not bring. What `opener` throws, OpenStore throws.
///
/// Thread-safe; may be called while other threads open stores, and before `main`.
/// @throws std::invalid_argument if the scheme is not a lower-case letter followed by lower-case
/// letters, digits, `+`, `-` or `.`; if it has an opener already (a store of doclock's, or one that
/// was registered); or for an empty `opener`. Then nothing has changed.
DOCLOCK_EXPORT void RegisterScheme(std::string scheme, StoreOpener opener);

}  // namespace doclock
