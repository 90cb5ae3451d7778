#pragma once

#include <filesystem>
#include <string_view>

#include "doclock/sqlite_store.h"

namespace doclock {

/// What a `sqlite:` URL asks for.
struct SqliteUrl {
  std::filesystem::path file;
  SqliteStoreOptions options;
};

/// Reads what follows `sqlite:`. @throws std::invalid_argument naming the option or what is wrong
/// with the path; the URL is not repeated.
SqliteUrl ParseSqliteUrl(std::string_view rest);

}  // namespace doclock
