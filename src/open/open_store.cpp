#include "doclock/open_store.h"

#include <optional>
#include <stdexcept>

#include "doclock/memory_store.h"
#ifdef DOCLOCK_WITH_SQLITE
#include "doclock/sqlite_store.h"
#include "open/sqlite_url.h"
#endif

#ifdef DOCLOCK_WITH_MONGODB
#include "doclock/mongodb_store.h"
#endif

namespace doclock {
namespace {

constexpr const char* kKnownSchemes =
    "memory:"
#ifdef DOCLOCK_WITH_SQLITE
    ", sqlite:PATH"
#endif
#ifdef DOCLOCK_WITH_MONGODB
    ", mongodb://HOSTS/DATABASE"
#endif
    "; others are not part of this build";

/// What follows `scheme`, if the URL begins with it.
std::optional<std::string_view> After(std::string_view scheme, std::string_view url) {
  if (!url.starts_with(scheme)) return std::nullopt;
  return url.substr(scheme.size());
}

}  // namespace

std::shared_ptr<Store> OpenStore(std::string_view url) {
  return OpenStore(url, OpenMode::kAsTheUrlSays);
}

std::shared_ptr<Store> OpenStore(std::string_view url, [[maybe_unused]] OpenMode mode) {
  if (const auto rest = After("memory:", url)) {
    if (!rest->empty()) {
      throw std::invalid_argument("doclock: the URL memory: takes no path and no options");
    }
    return OpenMemoryStore();
  }
#ifdef DOCLOCK_WITH_SQLITE
  if (const auto rest = After("sqlite:", url)) {
    SqliteUrl parsed = ParseSqliteUrl(*rest);
    if (mode == OpenMode::kExisting) parsed.options.create = false;
    return OpenSqliteStore(parsed.file, std::move(parsed.options));
  }
#endif
#ifdef DOCLOCK_WITH_MONGODB
  if (After("mongodb:", url) || After("mongodb+srv:", url)) {
    return OpenMongodbStore(std::string(url));
  }
#endif
  throw std::invalid_argument(std::string("doclock: the URL's scheme is not known; there are ") +
                              kKnownSchemes);
}

}  // namespace doclock
