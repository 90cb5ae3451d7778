#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

namespace doclock::test {

/// How many processes are somewhere at once: a number in a file that they all see.
class HeadCount {
 public:
  explicit HeadCount(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* page = MAP_FAILED;
    if (descriptor >= 0 && ::ftruncate(descriptor, sizeof(Count)) == 0) {
      page = ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (descriptor >= 0) ::close(descriptor);
    if (page == MAP_FAILED) throw std::runtime_error("cannot share a page");
    count_ = static_cast<Count*>(page);
  }
  HeadCount(const HeadCount&) = delete;
  HeadCount& operator=(const HeadCount&) = delete;
  ~HeadCount() { ::munmap(count_, sizeof(Count)); }

  /// Returns how many there are now, this one too.
  int Enter() noexcept { return count_->fetch_add(1) + 1; }
  void Leave() noexcept { count_->fetch_sub(1); }

 private:
  using Count = std::atomic<int>;
  static_assert(Count::is_always_lock_free);

  Count* count_ = nullptr;  // zeros are a count of none
};

}  // namespace doclock::test
