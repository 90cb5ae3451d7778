#include "sqlite/db/file_set.h"

#include <algorithm>
#include <cerrno>

#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

[[noreturn]] void Gone(const std::string& path) {
  throw RefusedError(path + " was moved, deleted or replaced while it was open");
}

/// @throws DatabaseError if there is no such file.
platform::FileIdentity IdentityOf(const std::string& path) {
  if (const auto identity = platform::IdentityOf(path.c_str())) return *identity;
  if (errno != ENOENT && errno != ENOTDIR) throw SystemError(path + " cannot be looked at", errno);
  Gone(path);
}

}  // namespace

FileSet::FileSet(const std::filesystem::path& database, const Connection& connection) {
  auto file = files_.begin();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string path = database.string() + suffix;
    *file++ = {path, IdentityOf(path)};
  }
  // The file behind the name is the one that SQLite has open.
  if (connection.HasMoved()) Gone(database.string());
}

void FileSet::Check() const {
  for (const File& file : files_) {
    if (IdentityOf(file.path) != file.identity) Gone(file.path);
  }
}

bool FileSet::IsReplaced() const noexcept {
  return std::ranges::any_of(files_, [](const File& file) {
    const auto now = platform::IdentityOf(file.path.c_str());
    return now && *now != file.identity;
  });
}

}  // namespace doclock::sqlite
