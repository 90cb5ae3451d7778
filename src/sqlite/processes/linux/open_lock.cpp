#include "sqlite/processes/open_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "platform/close_on_fork.h"
#include "platform/fork_generation.h"
#include "platform/standard_numbers.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

/// Bytes that SQLite locks (sqlite.org/fileformat2.html, walformat.html).
struct Bytes {
  off_t start;
  off_t length;
};
/// The lock that each connection holds on a database with a write-ahead log.
constexpr Bytes kDatabaseBytes{0x40000002, 510};
/// The lock that each process holds on the index. A process that finds it free truncates the index.
constexpr Bytes kIndexBytes{128, 1};
constexpr std::array kBytes{kDatabaseBytes, kIndexBytes};

bool SetLock(int file, short type, Bytes bytes) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = bytes.start;
  lock.l_len = bytes.length;
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

bool IsSameFile(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// The descriptors that no store needs any more, but which cannot be closed yet: that would drop
/// the locks of SQLite's other connections to the file. Guarded by a ForkPause.
struct Leftovers {
  std::vector<int> files;
  std::uint32_t generation = platform::ForkGeneration();
};

/// Never destroyed: stores may be closed while the process ends.
Leftovers& TheLeftovers() {
  static auto* const leftovers = new Leftovers;
  if (leftovers->generation != platform::ForkGeneration()) {
    leftovers->files.clear();  // the fork has closed them
    leftovers->generation = platform::ForkGeneration();
  }
  return *leftovers;
}

/// Whether this process has another descriptor of a leftover's file than leftovers; true if that
/// cannot be seen.
bool IsInUse(int leftover, const std::vector<int>& leftovers) {
  struct stat file {};
  std::error_code error;
  std::filesystem::directory_iterator all("/proc/self/fd", error);
  if (error || ::fstat(leftover, &file) != 0) return true;
  for (; all != std::filesystem::directory_iterator(); all.increment(error)) {
    const int number = std::atoi(all->path().filename().c_str());
    struct stat other {};  // by its name: the number may be another thread's, which may close it
    if (::stat(all->path().c_str(), &other) != 0 || !IsSameFile(file, other)) continue;
    if (std::find(leftovers.begin(), leftovers.end(), number) == leftovers.end()) return true;
  }
  return static_cast<bool>(error);
}

/// Closes it and the other leftovers, or keeps them for later.
void CloseOrKeep(int file, const platform::ForkPause& pause) noexcept {
  try {
    std::vector<int>& kept = TheLeftovers().files;
    kept.push_back(file);
    std::vector<int> free;
    std::copy_if(kept.begin(), kept.end(), std::back_inserter(free),
                 [&](int one) { return !IsInUse(one, kept); });
    for (const int one : free) {
      std::erase(kept, one);
      platform::KeepOnFork(one, pause);
      ::close(one);
    }
  } catch (const std::exception&) {
    // Without memory one descriptor stays open.
  }
}

/// One of the leftovers of this file; -1: there is none.
int TakeKept(const std::string& path) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0) return -1;
  std::vector<int>& kept = TheLeftovers().files;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](int one) {
    struct stat status {};
    return ::fstat(one, &status) == 0 && IsSameFile(wanted, status);
  });
  if (found == kept.end()) return -1;
  const int file = *found;
  kept.erase(found);
  return file;
}

int Open(const std::string& path, const platform::ForkPause& pause) {
  if (const int kept = TakeKept(path); kept >= 0) return kept;
  const platform::StandardNumbersTaken taken;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw SystemError(path + " cannot be opened", errno);
  platform::CloseOnFork(file, pause);
  return file;
}

}  // namespace

OpenLock::OpenLock(const std::filesystem::path& database) {
  const std::array paths{database.string(), database.string() + "-shm"};
  const platform::ForkPause pause;
  try {
    for (const std::size_t which : {kDatabase, kIndex}) {
      files_[which] = Open(paths[which], pause);
      if (!SetLock(files_[which], F_RDLCK, kBytes[which])) {
        throw SystemError(paths[which] + " cannot be locked", errno);
      }
    }
  } catch (...) {
    for (const int file : files_) {
      if (file >= 0) CloseOrKeep(file, pause);
    }
    throw;
  }
}

OpenLock::~OpenLock() {
  Release();
  const platform::ForkPause pause;
  for (const int file : files_) CloseOrKeep(file, pause);
}

void OpenLock::Release() noexcept {
  for (const std::size_t which : {kDatabase, kIndex}) {
    SetLock(files_[which], F_UNLCK, kBytes[which]);
  }
}

}  // namespace doclock::sqlite
