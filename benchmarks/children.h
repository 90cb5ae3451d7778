#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <vector>

namespace doclock::bench {

/// Processes made by fork, before this one opened anything, and memory they share.
template <class Shared>
class Children {
 public:
  Children()
      : shared_(static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (shared_ == MAP_FAILED) std::abort();
    new (shared_) Shared();
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    Join();
    ::munmap(shared_, sizeof(Shared));
  }

  void Start(const std::function<void(Shared&)>& work) {
    const pid_t child = ::fork();
    if (child < 0) std::abort();
    if (child == 0) {
      work(*shared_);
      ::_exit(0);
    }
    children_.push_back(child);
  }
  void Join() {
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
    children_.clear();
  }
  Shared& shared() { return *shared_; }

 private:
  Shared* shared_;
  std::vector<pid_t> children_;
};

}  // namespace doclock::bench
