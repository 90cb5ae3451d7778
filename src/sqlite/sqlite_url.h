#pragma once

#include <filesystem>
#include <string_view>

#include "doclock/stores/sqlite.h"

namespace doclock {

/// The contents of a `sqlite:` URL.
struct SqliteUrl {
  std::filesystem::path file;
  SqliteStoreOptions options;
};

/// Reads the part after `sqlite:`. @throws std::invalid_argument naming the option or the error in
/// the path; the text does not repeat the URL.
SqliteUrl ParseSqliteUrl(std::string_view rest);

}  // namespace doclock
