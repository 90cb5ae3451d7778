#include "sqlite/open_url.h"

#include <utility>

#include "sqlite/sqlite_url.h"

namespace doclock {

std::shared_ptr<Store> OpenSqliteUrl(std::string_view url, OpenMode mode) {
  constexpr std::string_view kScheme = "sqlite:";
  SqliteUrl parsed = ParseSqliteUrl(url.substr(kScheme.size()));
  if (mode != OpenMode::kAsTheUrlSays) parsed.options.create = false;
  if (mode == OpenMode::kUnchanged) parsed.options.complete = false;
  return OpenSqliteStore(parsed.file, std::move(parsed.options));
}

}  // namespace doclock
