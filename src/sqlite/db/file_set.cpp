#include "sqlite/db/file_set.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

[[noreturn]] void Gone(const std::string& path) {
  throw RefusedError(path + " was moved, deleted or replaced while it was open");
}

}  // namespace

FileSet::Files FileSet::NamesOf(const std::filesystem::path& database) {
  const std::string path = database.string();
  return {File{path}, File{path + "-wal"}, File{path + "-shm"}};
}

FileSet::FileSet(const std::filesystem::path& database, const Connection& connection)
    : files_(NamesOf(database)) {
  for (File& file : files_) {
    const auto identity = platform::IdentityOf(file.path.c_str());
    if (!identity) Gone(file.path);
    file.identity = *identity;
  }
  index_size_ = files_[kIndex].identity.size;
  // The file behind the name is the one that SQLite has open.
  if (connection.HasMoved()) Gone(files_[kDatabase].path);
}

std::int64_t FileSet::SizeOf(const File& file) {
  const auto now = platform::IdentityOf(file.path.c_str());
  const int error = errno;
  if (!now && error != ENOENT && error != ENOTDIR) {
    throw DatabaseError(SQLITE_IOERR, file.path + " cannot be looked at" + ReasonOf(error), error);
  }
  if (!now || now->inode != file.identity.inode || now->device != file.identity.device) {
    Gone(file.path);
  }
  return now->size;
}

std::int64_t FileSet::Check() const {
  SizeOf(files_[kDatabase]);
  const std::int64_t log = SizeOf(files_[kLog]);
  CheckIndex();
  return log;
}

bool FileSet::LogIsMissing() const noexcept {
  return !platform::IdentityOf(files_[kLog].path.c_str()) && errno == ENOENT;
}

void FileSet::CheckIndex() const {
  // Loaded before the file is checked: other threads may see the index grow in between.
  const std::int64_t known = index_size_.load();
  const std::int64_t size = SizeOf(files_[kIndex]);
  if (size < known) RestoreIndex();
  if (size > known) RaiseIndexSize(size);
}

void FileSet::RaiseIndexSize(std::int64_t size) const noexcept {
  std::int64_t known = index_size_.load();
  while (known < size && !index_size_.compare_exchange_weak(known, size)) {
  }
}

/// Checks again first: another thread may have restored it meanwhile. It may have grown and be
/// mapped since, and must not be shortened.
void FileSet::RestoreIndex() const {
  const std::lock_guard guard(restoring_);
  const File& index = files_[kIndex];
  const std::int64_t known = index_size_.load();
  // By its name: closing a descriptor would drop SQLite's locks.
  if (SizeOf(index) < known && ::truncate(index.path.c_str(), known) != 0) {
    throw RefusedError(index.path + " was truncated");
  }
  throw BusyError(index.path + " was truncated while it was open, and is being made anew");
}

std::uint32_t FileSet::TagAt(const std::filesystem::path& database) {
  Files files = NamesOf(database);
  for (File& file : files) {
    const auto identity = platform::IdentityOf(file.path.c_str());
    if (!identity) return 0;
    file.identity = *identity;
  }
  return TagOf(files);
}

std::uint32_t FileSet::tag() const noexcept { return TagOf(files_); }

std::uint32_t FileSet::TagOf(const Files& files) noexcept {
  std::uint64_t mixed = 0;
  for (const File& file : files) {
    mixed = (mixed ^ file.identity.device) * 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ file.identity.inode) * 0x9E3779B97F4A7C15U;
  }
  return static_cast<std::uint32_t>(mixed >> 32) | 1;
}

void CheckLog(const Connection& connection, const std::filesystem::path& database,
              std::int64_t length) {
  std::int64_t needed = connection.LogLength();
  if (length >= needed) return;
  const std::string log = database.string() + "-wal";
  for (;; needed = connection.LogLength()) {
    const auto now = platform::IdentityOf(log.c_str());
    if ((now ? now->size : 0) >= needed) return;
    // A checkpoint may truncate the log, but the index says before that that the log is empty.
    if (connection.LogLength() == needed) {
      throw RefusedError(log + " was truncated while it was open");
    }
  }
}

}  // namespace doclock::sqlite
