#pragma once

#include <array>
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
  /// Whether a name leads to another file by now.
  [[nodiscard]] bool IsReplaced() const noexcept;

 private:
  struct File {
    std::string path;
    platform::FileIdentity identity;  ///< As it was opened.
  };

  std::array<File, 3> files_;
};

}  // namespace doclock::sqlite
