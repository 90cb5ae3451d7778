#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "platform/file_identity.h"

namespace doclock::sqlite {

class Connection;

/// The files of an open database: itself, its log and the log's index. If one of them is moved,
/// deleted or replaced, the stores that have it open and those that open it later use different
/// files, and both would grant the same locks. So each transaction checks the names. (By their
/// names alone: closing a descriptor of one of these files would drop SQLite's locks.)
/// Thread-safe.
class FileSet {
 public:
  /// The files that `connection` has open; it has read the database before.
  /// @throws DatabaseError if the database was moved since it was opened.
  FileSet(const std::filesystem::path& database, const Connection& connection);

  /// @throws DatabaseError (kRefused), naming the file, if a name leads to another file by now, or
  /// to none.
  void Check() const;
  enum class Place : std::uint8_t { kSame, kMissing, kReplaced };
  /// Whether the names still lead to these files, one of them to none, or one to another file.
  [[nodiscard]] Place Look() const noexcept;

  /// A number that almost certainly differs for other files; 0: one of them is missing.
  [[nodiscard]] static std::uint32_t TagAt(const std::filesystem::path& database);

 private:
  struct File {
    std::string path;
    platform::FileIdentity identity;  ///< As it was opened.
  };

  std::array<File, 3> files_;
};

}  // namespace doclock::sqlite
