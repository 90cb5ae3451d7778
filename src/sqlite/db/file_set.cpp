#include "sqlite/db/file_set.h"

#include <cerrno>

#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

constexpr std::array kSuffixes{"", "-wal", "-shm"};

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
  for (const char* suffix : kSuffixes) {
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

FileSet::Place FileSet::Look() const noexcept {
  Place place = Place::kSame;
  for (const File& file : files_) {
    const auto now = platform::IdentityOf(file.path.c_str());
    if (now && *now != file.identity) return Place::kReplaced;
    if (!now) place = Place::kMissing;
  }
  return place;
}

std::uint32_t FileSet::TagAt(const std::filesystem::path& database) {
  std::uint64_t mixed = 0;
  for (const char* suffix : kSuffixes) {
    const auto file = platform::IdentityOf((database.string() + suffix).c_str());
    if (!file) return 0;
    mixed = (mixed ^ file->inode) * 0x9E3779B97F4A7C15U;
  }
  return static_cast<std::uint32_t>(mixed >> 32) | 1;
}

}  // namespace doclock::sqlite
