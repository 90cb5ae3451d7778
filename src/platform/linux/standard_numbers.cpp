#include "platform/standard_numbers.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>

#include "platform/fork_generation.h"

namespace doclock::platform {
namespace {

/// What all threads have taken together.
struct Taken {
  std::mutex mutex;
  int users = 0;
  std::array<int, 3> numbers{};
  std::size_t count = 0;
  const std::uint32_t generation = ForkGeneration();

  /// Those that are closed now, again each time: the program may have closed more.
  void Add() noexcept {
    const std::lock_guard guard(mutex);
    ++users;
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      if (::fcntl(number, F_GETFD) >= 0 || count == numbers.size()) continue;
      const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (nothing >= 0) numbers[count++] = nothing;
    }
  }
  void Remove() noexcept {
    const std::lock_guard guard(mutex);
    if (--users > 0) return;
    while (count > 0) {
      // The program may have opened it anew meanwhile, as dup2 and freopen do.
      if (const int one = numbers[--count]; ::fcntl(one, F_GETFD) == FD_CLOEXEC) ::close(one);
    }
  }
};

/// A forked child gets an object of its own: another thread of its parent may have had the mutex.
Taken& TheTaken() noexcept {
  static Taken first;  // not destroyed: stores may be closed while the process ends
  static_assert(std::is_trivially_destructible_v<Taken>);
  static std::atomic<Taken*> taken{&first};
  Taken* current = taken.load();
  if (current->generation != ForkGeneration()) {
    auto* const fresh = new (std::nothrow) Taken;
    if (fresh != nullptr && taken.compare_exchange_strong(current, fresh)) return *fresh;
    delete fresh;
  }
  return *current;
}

}  // namespace

StandardNumbersTaken::StandardNumbersTaken() noexcept { TheTaken().Add(); }

StandardNumbersTaken::~StandardNumbersTaken() { TheTaken().Remove(); }

void StandardNumbersTaken::ForGood() noexcept { TheTaken().Add(); }

}  // namespace doclock::platform
