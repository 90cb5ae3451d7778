#pragma once

/// @file
/// How a store is opened: by its URL, or in memory. The folder stores/ has the options of each
/// store.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "doclock/export.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

namespace doclock {

/// May opening a store create what is missing?
enum class OpenMode : std::uint8_t {
  kAsTheUrlSays,  ///< What OpenStore(url) does.
  kExisting,      ///< Neither files nor collections are created, even if the URL asks for it: a
                  ///< missing collection is NotFoundException when it is opened.
  kUnchanged,     ///< As kExisting. Nor is anything completed: what is not complete is refused. To
                  ///< look at a store without leaving a trace.
};

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

/// Opens a store by its whole URL, scheme included. Called by several threads at once. Never
/// returns null.
/// @throws std::invalid_argument for a bad URL. The text names the error, and never repeats the
/// URL, which may hold a password. @throws StoreException
using StoreOpener = std::function<std::shared_ptr<Store>(std::string_view url, OpenMode mode)>;

/// Makes OpenStore call `opener` for URLs that begin with `scheme` and a colon, until the program
/// ends. For stores that doclock does not bring. What `opener` throws, OpenStore throws.
///
/// Thread-safe; may be called while other threads open stores, and before `main`.
/// @throws std::invalid_argument if the scheme is not a lower-case letter followed by lower-case
/// letters, digits, `+`, `-` or `.`; if it has an opener already (a store of doclock's, or one that
/// was registered); or for an empty `opener`. Then nothing has changed.
DOCLOCK_EXPORT void RegisterScheme(std::string scheme, StoreOpener opener);

/// How a memory store works.
struct MemoryStoreOptions {
  /// Where it reads the time from; null means the real clock.
  std::shared_ptr<const Clock> clock = nullptr;
};

/// Opens a store in the memory of this process: for tests, and for locks between threads. It does
/// everything that the other stores do, by the same rules.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMemoryStore(MemoryStoreOptions options = {});

}  // namespace doclock
