#include "doclock/open_store.h"

#include <optional>
#include <stdexcept>

#include "doclock/memory_store.h"
#ifdef DOCLOCK_WITH_SQLITE
#include "doclock/sqlite_store.h"
#include "open/sqlite_url.h"
#endif

namespace doclock {
namespace {

#ifdef DOCLOCK_WITH_SQLITE
constexpr const char* kKnownSchemes = "memory: and sqlite:PATH";
#else
constexpr const char* kKnownSchemes = "memory: (SQLite was left out of this build)";
#endif

/// What follows `scheme`, if the URL begins with it.
std::optional<std::string_view> After(std::string_view scheme, std::string_view url) {
  if (!url.starts_with(scheme)) return std::nullopt;
  return url.substr(scheme.size());
}

}  // namespace

std::shared_ptr<Store> OpenStore(std::string_view url) {
  if (const auto rest = After("memory:", url)) {
    if (!rest->empty()) {
      throw std::invalid_argument("doclock: the URL memory: takes no path and no options");
    }
    return OpenMemoryStore();
  }
#ifdef DOCLOCK_WITH_SQLITE
  if (const auto rest = After("sqlite:", url)) {
    SqliteUrl parsed = ParseSqliteUrl(*rest);
    return OpenSqliteStore(parsed.file, std::move(parsed.options));
  }
#endif
  throw std::invalid_argument(std::string("doclock: the URL's scheme is not known; there are ") +
                              kKnownSchemes);
}

}  // namespace doclock
