#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

namespace doclock::test {

/// How many processes are somewhere at once, and the most there ever were: in a file that they all
/// see.
class HeadCount {
 public:
  explicit HeadCount(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* page = MAP_FAILED;
    if (descriptor >= 0 && ::ftruncate(descriptor, sizeof(Counts)) == 0) {
      page = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (descriptor >= 0) ::close(descriptor);
    if (page == MAP_FAILED) throw std::runtime_error("cannot share a page");
    counts_ = static_cast<Counts*>(page);
  }
  HeadCount(const HeadCount&) = delete;
  HeadCount& operator=(const HeadCount&) = delete;
  ~HeadCount() { ::munmap(counts_, sizeof(Counts)); }

  void Enter() noexcept {
    const int now = counts_->now.fetch_add(1) + 1;
    int most = counts_->most;
    while (most < now && !counts_->most.compare_exchange_weak(most, now)) {
    }
  }
  void Leave() noexcept { counts_->now.fetch_sub(1); }
  int most() const noexcept { return counts_->most; }

 private:
  struct Counts {
    std::atomic<int> now, most;
  };
  static_assert(std::atomic<int>::is_always_lock_free);

  Counts* counts_ = nullptr;  // zeros are a count of none
};

}  // namespace doclock::test
