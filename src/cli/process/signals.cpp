#include "cli/process/signals.h"

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace doclock::cli {
namespace {

constexpr int kHandled[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                            SIGCONT, SIGTSTP, SIGWINCH, SIGCHLD, SIGTTIN, SIGTTOU};

[[noreturn]] void Throw(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Was this program started to ignore the signal, as by nohup? Then its command ignores it too.
bool IsIgnored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  ::signal(SIGCHLD, SIG_DFL);  // ignored, children could not be waited for
  sigset_t handled;
  ::sigemptyset(&handled);
  for (const int number : kHandled) {
    if (!IsIgnored(number)) ::sigaddset(&handled, number);
  }
  sigset_t blocked = handled;
  ::sigaddset(&blocked, SIGPIPE);  // a message without a reader must not end this program
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &blocked, &former_); error != 0) {
    errno = error;
    Throw("pthread_sigmask");
  }
  descriptor_ = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) Throw("signalfd");
}

Signals::~Signals() { ::close(descriptor_); }

std::optional<int> Signals::Next() noexcept {
  signalfd_siginfo info{};
  if (::read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

bool StopsPrograms(int number) noexcept {
  return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

bool EndsPrograms(int number) noexcept {
  return !StopsPrograms(number) && number != SIGCONT && number != SIGWINCH && number != SIGCHLD;
}

bool AsksToEnd(int number) noexcept {
  return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

Wakeup::Wakeup() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) Throw("eventfd");
}

Wakeup::~Wakeup() { ::close(descriptor_); }

void Wakeup::Set() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(descriptor_, &one, sizeof one) == 0);
}

void Wakeup::Clear() const noexcept {
  std::uint64_t count = 0;
  static_cast<void>(::read(descriptor_, &count, sizeof count) == 0);
}

}  // namespace doclock::cli
