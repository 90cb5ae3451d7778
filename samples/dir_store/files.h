#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

// Files that survive a loss of power, and the lock that processes take in turn. What fails is a
// doclock::StoreException that names the file.

/// A lock file, locked until it is destroyed. flock() tells threads of one process apart too, for
/// each opens the file anew.
class FileLock {
 public:
  /// @throws doclock::StoreException (kUnavailable) when others hold it for longer than `budget`.
  FileLock(const std::filesystem::path& file, std::chrono::milliseconds budget);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int file_;
};

/// All of a file; none: it does not exist.
std::optional<std::string> ReadFile(const std::filesystem::path& file);

/// Puts a file in place in one step: after a failure the former one is there, whole.
/// @throws doclock::InDoubtException when it is in place, but might not survive a loss of power.
void ReplaceFile(const std::filesystem::path& file, const std::string& text);

/// Removes a file, which may be gone already. Throws as ReplaceFile.
void RemoveFile(const std::filesystem::path& file);
