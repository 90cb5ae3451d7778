#include "files.h"

#include <doclock/errors.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kPoll{2};

[[noreturn]] void Throw(const fs::path& file, const char* what, int error) {
  throw doclock::StoreException(doclock::Errc::kUnavailable,
                                file.string() + ": " + what + ": " + std::strerror(error));
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const fs::path& file, int flags) : fd_(::open(file.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) Throw(file, "cannot be opened", errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// After a change of the folder, which is there now, and may be gone after a loss of power.
void FlushFolder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool flushed = fd >= 0 && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  if (!flushed) throw doclock::InDoubtException(folder.string() + ": cannot be flushed");
}

}  // namespace

FileLock::FileLock(const fs::path& file, std::chrono::milliseconds budget)
    : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) Throw(file, "cannot be opened", errno);
  const auto end = std::chrono::steady_clock::now() + budget;
  while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error != EWOULDBLOCK || std::chrono::steady_clock::now() >= end) {
      ::close(file_);
      Throw(file, "cannot be locked in time", error);
    }
    std::this_thread::sleep_for(kPoll);
  }
}

FileLock::~FileLock() {
  ::flock(file_, LOCK_UN);  // a child that was forked meanwhile has the file open too
  ::close(file_);
}

std::optional<std::string> ReadFile(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    Throw(file, "cannot be read", errno);
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void ReplaceFile(const fs::path& file, const std::string& text) {
  const fs::path draft = file.string() + "~";
  {
    const Descriptor out(draft, O_WRONLY | O_CREAT | O_TRUNC);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(out.get(), text.data() + done, text.size() - done);
      if (written < 0 && errno != EINTR) Throw(draft, "cannot be written", errno);
      if (written > 0) done += static_cast<std::size_t>(written);
    }
    if (::fsync(out.get()) != 0) Throw(draft, "cannot be flushed", errno);
  }
  if (::rename(draft.c_str(), file.c_str()) != 0) Throw(file, "cannot be replaced", errno);
  FlushFolder(file.parent_path());
}

void RemoveFile(const fs::path& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) Throw(file, "cannot be removed", errno);
  FlushFolder(file.parent_path());
}
