#include "platform/standard_numbers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "platform/fork_generation.h"

namespace doclock::platform {
namespace {

/// Is this number still what Add opened? The program may have closed it, and opened a file of its
/// own: no such file is a device that can neither be read nor written (O_PATH).
bool IsPlaceholder(int number) noexcept {
  struct stat file {};
  return ::fcntl(number, F_GETFD) == FD_CLOEXEC && (::fcntl(number, F_GETFL) & O_PATH) != 0 &&
         ::fstat(number, &file) == 0 && S_ISCHR(file.st_mode);
}

/// What all threads have taken together.
struct Taken {
  std::mutex mutex;
  int users = 0;
  std::array<bool, 3> numbers{};
  const std::uint32_t generation = ForkGeneration();

  /// Those that are closed now, again each time: the program may have closed more.
  void Add() noexcept {
    const std::lock_guard guard(mutex);
    ++users;
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      if (::fcntl(number, F_GETFD) >= 0) continue;
      // With O_PATH the program's reads and writes fail as on a closed descriptor.
      const int nothing = ::open("/dev/null", O_PATH | O_CLOEXEC);
      if (nothing < 0) continue;
      if (nothing <= STDERR_FILENO) {
        numbers[static_cast<std::size_t>(nothing)] = true;
      } else {
        ::close(nothing);  // the program itself has opened this number meanwhile
      }
    }
  }
  void Remove() noexcept {
    const std::lock_guard guard(mutex);
    if (--users > 0) return;
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      bool& taken = numbers[static_cast<std::size_t>(number)];
      if (std::exchange(taken, false) && IsPlaceholder(number)) ::close(number);
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
