#include "sqlite/file_set.h"

#include <sys/stat.h>

#include "sqlite/connection.h"
#include "sqlite/database_error.h"

namespace doclock::sqlite {
namespace {

[[noreturn]] void Gone(const std::string& path) {
  throw RefusedError(path + " was moved, deleted or replaced while it was open");
}

}  // namespace

FileSet::FileSet(const std::filesystem::path& database, const Connection& connection) {
  const std::string path = database.string();
  files_ = {File{path}, File{path + "-wal"}, File{path + "-shm"}};
  for (File& file : files_) {
    struct stat status {};
    if (::stat(file.path.c_str(), &status) != 0) Gone(file.path);
    file.device = status.st_dev;
    file.inode = status.st_ino;
    if (&file == &files_[kIndex]) index_size_ = status.st_size;
  }
  // What was looked at by its name is what SQLite has open.
  if (connection.HasMoved()) Gone(path);
}

struct stat FileSet::StatusOf(const File& file) {
  struct stat status {};
  if (::stat(file.path.c_str(), &status) != 0 || status.st_ino != file.inode ||
      status.st_dev != file.device) {
    Gone(file.path);
  }
  return status;
}

off_t FileSet::Check() const {
  StatusOf(files_[kDatabase]);
  const off_t log_size = LogSize();
  CheckIndexSize(StatusOf(files_[kIndex]).st_size);
  return log_size;
}

off_t FileSet::LogSize() const { return StatusOf(files_[kLog]).st_size; }

void FileSet::CheckIndexSize(off_t size) const {
  const off_t known = index_size_.load();
  if (size == known) return;
  if (size > known) return index_size_.store(size);
  const std::string& path = files_[kIndex].path;
  // By its name: closing a descriptor would drop SQLite's locks.
  if (::truncate(path.c_str(), known) != 0) throw RefusedError(path + " was truncated");
  throw BusyError(path + " was truncated while it was open, and is being made anew");
}

std::uint32_t FileSet::tag() const noexcept {
  std::uint64_t mixed = 0;
  for (const File& file : files_) {
    mixed = (mixed ^ file.device) * 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ file.inode) * 0x9E3779B97F4A7C15U;
  }
  return static_cast<std::uint32_t>(mixed >> 32) | 1;
}

}  // namespace doclock::sqlite
