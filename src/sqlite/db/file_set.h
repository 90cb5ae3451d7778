#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "platform/file_identity.h"

namespace doclock::sqlite {

class Connection;

/// The files of an open database: itself, its log and the log's index. If one of them is moved,
/// deleted or replaced, the stores that have it open and those that open it later use different
/// files, and both would grant the same locks. So each transaction checks the names first. (By
/// their names alone: closing a descriptor of one of these files would drop SQLite's locks.)
/// Thread-safe.
class FileSet {
 public:
  /// The files that `connection` has open; it has read the database before.
  /// @throws DatabaseError if the database was moved since it was opened.
  FileSet(const std::filesystem::path& database, const Connection& connection);

  /// @throws DatabaseError, naming the file: kRefused if a name leads to another file by now, or to
  /// none; kUnavailable if the index was truncated. Touching the missing part would raise SIGBUS,
  /// so this restores the length, and SQLite fills the index from the log.
  /// @returns the length of the log, in bytes.
  std::int64_t Check() const;
  [[nodiscard]] bool LogIsMissing() const noexcept;
  [[nodiscard]] const std::string& database() const noexcept { return files_[kDatabase].path; }

  /// A number that almost certainly differs for other files; never 0.
  [[nodiscard]] std::uint32_t tag() const noexcept;
  /// The tag of the files that these names lead to now; 0: one of them is missing.
  [[nodiscard]] static std::uint32_t TagAt(const std::filesystem::path& database);

 private:
  struct File {
    std::string path;
    platform::FileIdentity identity{};  ///< As it was opened.
  };
  using Files = std::array<File, 3>;
  enum : std::size_t { kDatabase, kLog, kIndex };

  static Files NamesOf(const std::filesystem::path& database);
  static std::uint32_t TagOf(const Files& files) noexcept;
  /// The length of the file. @throws DatabaseError if its name leads to another one, or to none.
  static std::int64_t SizeOf(const File& file);
  void CheckIndex() const;
  void RaiseIndexSize(std::int64_t size) const noexcept;
  [[noreturn]] void RestoreIndex() const;

  Files files_;
  /// The greatest length of the index seen so far: it only grows while it is open.
  mutable std::atomic<std::int64_t> index_size_{0};
  mutable std::mutex restoring_;
};

/// @param length what FileSet::Check returned, if that was just now: the log is looked at again
/// only if it has grown since.
/// @throws DatabaseError (kRefused) if the log of a connection that has read it is shorter than its
/// index says. A write behind its end would leave a hole, which SQLite would copy into the
/// database; and a reader would take it for an empty one.
void CheckLog(const Connection& connection, const std::filesystem::path& database,
              std::int64_t length = -1);

}  // namespace doclock::sqlite
