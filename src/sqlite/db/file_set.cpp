#include "sqlite/db/file_set.h"

#include <sys/stat.h>

#include <cerrno>

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
    struct stat status {};
    if (::stat(file.path.c_str(), &status) != 0) Gone(file.path);
    file.device = status.st_dev;
    file.inode = status.st_ino;
    if (&file == &files_[kIndex]) index_size_ = status.st_size;
  }
  // The file behind the name is the one that SQLite has open.
  if (connection.HasMoved()) Gone(files_[kDatabase].path);
}

struct stat FileSet::StatusOf(const File& file) {
  struct stat status {};
  if (::stat(file.path.c_str(), &status) != 0 || status.st_ino != file.inode ||
      status.st_dev != file.device) {
    Gone(file.path);
  }
  return status;
}

void FileSet::Check() const {
  StatusOf(files_[kDatabase]);
  StatusOf(files_[kLog]);
  CheckIndex();
}

bool FileSet::LogIsMissing() const noexcept {
  struct stat status {};
  return ::stat(files_[kLog].path.c_str(), &status) != 0 && errno == ENOENT;
}

void FileSet::CheckIndex() const {
  // Loaded before the file is checked: other threads may see the index grow in between.
  const off_t known = index_size_.load();
  const off_t size = StatusOf(files_[kIndex]).st_size;
  if (size < known) RestoreIndex();
  if (size > known) RaiseIndexSize(size);
}

void FileSet::RaiseIndexSize(off_t size) const noexcept {
  off_t known = index_size_.load();
  while (known < size && !index_size_.compare_exchange_weak(known, size)) {
  }
}

/// Checks again first: another thread may have restored it meanwhile. It may have grown and be
/// mapped since, and must not be shortened.
void FileSet::RestoreIndex() const {
  const std::lock_guard guard(restoring_);
  const File& index = files_[kIndex];
  const off_t known = index_size_.load();
  // By its name: closing a descriptor would drop SQLite's locks.
  if (StatusOf(index).st_size < known && ::truncate(index.path.c_str(), known) != 0) {
    throw RefusedError(index.path + " was truncated");
  }
  throw BusyError(index.path + " was truncated while it was open, and is being made anew");
}

std::uint32_t FileSet::TagAt(const std::filesystem::path& database) {
  Files files = NamesOf(database);
  for (File& file : files) {
    struct stat status {};
    if (::stat(file.path.c_str(), &status) != 0) return 0;
    file.device = status.st_dev;
    file.inode = status.st_ino;
  }
  return TagOf(files);
}

std::uint32_t FileSet::tag() const noexcept { return TagOf(files_); }

std::uint32_t FileSet::TagOf(const Files& files) noexcept {
  std::uint64_t mixed = 0;
  for (const File& file : files) {
    mixed = (mixed ^ file.device) * 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ file.inode) * 0x9E3779B97F4A7C15U;
  }
  return static_cast<std::uint32_t>(mixed >> 32) | 1;
}

void CheckLog(const Connection& connection, const std::filesystem::path& database) {
  const std::string log = database.string() + "-wal";
  for (;;) {
    const std::int64_t needed = connection.LogLength();
    struct stat status {};
    if (::stat(log.c_str(), &status) != 0) status.st_size = 0;
    if (status.st_size >= needed) return;
    // A checkpoint may truncate the log, but the index says before that that the log is empty.
    if (connection.LogLength() == needed) {
      throw RefusedError(log + " was truncated while it was open");
    }
  }
}

}  // namespace doclock::sqlite
