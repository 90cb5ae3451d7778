// A case fails if anything but the test itself wrote a line to standard output, standard error or
// the system's log: the library writes nothing there, and what it calls, nothing but the driver's
// lines about lost connections. Another process passes on what is written, so that the report of
// a crash is not lost.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr std::array kStandard = {STDOUT_FILENO, STDERR_FILENO};
/// A line of the listener's own: all before it has been passed on.
constexpr std::string_view kMark = "\1mark";

/// Whether a test may write this line: one of its own figures, of GoogleTest or of RapidCheck.
bool IsOfTest(std::string_view line) {
  const auto begins = [&](std::string_view text) { return line.starts_with(text); };
  const auto holds = [&](std::string_view text) { return line.find(text) != line.npos; };
  const bool is_share = holds("% - ");  // of RapidCheck's classes of cases
  // What libmongoc logs of connections that fail, which doclock cannot keep it from.
  const bool is_of_driver = holds(" stream: ") || holds(" monitor: ") || holds(" cluster: ") ||
                            holds("Last server removed from ") || holds("send \"endSessions\"");
  // A remark, and what may stand below it; an error ends the process.
  const bool is_of_sanitizer = (begins("==") && !holds("ERROR")) ||
                               begins("False positive error reports may follow") ||
                               begins("For details see https://github.com/google/sanitizers");
  const bool is_of_googletest = begins("[ ") || begins("[---") || begins("[===");
  return line.empty() || is_of_googletest || begins("[figures] ") ||
         begins("Using configuration: ") || begins("OK, passed ") || is_share || is_of_driver ||
         is_of_sanitizer;
}

/// What the process that passes lines on tells the tests'.
struct Shared {
  std::array<std::atomic<int>, kStandard.size()> marks{};
  std::atomic<int> lines{0};
  std::array<char, 256> first{};  ///< The first of `lines`, zero-terminated; written before it.
};

/// Passes on what comes from one pipe, line by line.
class Passer {
 public:
  Passer(int from, int to, std::atomic<int>& marks, Shared& shared)
      : from_(from), to_(to), marks_(marks), shared_(shared) {}
  [[nodiscard]] int from() const noexcept { return from_; }

  /// Returns false at the end.
  bool Pass() {
    std::array<char, 4096> bytes;
    const ssize_t count = ::read(from_, bytes.data(), bytes.size());
    if (count <= 0) {
      (void)!::write(to_, line_.data(), line_.size());
      return false;
    }
    for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(count))) {
      if (c == '\n') {
        End();
      } else {
        line_ += c;
      }
    }
    return true;
  }

 private:
  void End() {
    // A test's last line may lack its end.
    const bool is_mark = line_.ends_with(kMark);
    if (is_mark) line_.resize(line_.size() - kMark.size());
    if (!is_mark || !line_.empty()) {
      Judge();
      line_ += '\n';
      (void)!::write(to_, line_.data(), line_.size());
    }
    line_.clear();
    if (is_mark) ++marks_;
  }

  void Judge() {
    if (IsOfTest(line_)) return;
    if (shared_.lines == 0) {
      const std::size_t size = std::min(line_.size(), shared_.first.size() - 1);
      std::memcpy(shared_.first.data(), line_.data(), size);
      shared_.first[size] = '\0';
    }
    ++shared_.lines;
  }

  const int from_;
  const int to_;
  std::atomic<int>& marks_;
  Shared& shared_;
  std::string line_;
};

class Quiet final : public ::testing::EmptyTestEventListener {
 private:
  void OnTestProgramStart(const ::testing::UnitTest& /*tests*/) override {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
    shared_ = new (memory) Shared;
    std::fflush(nullptr);
    std::array<std::array<int, 2>, kStandard.size()> pipes{};
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      // A server that a test starts shall not hold them: CTest waits until they are closed.
      real_[i] = ::fcntl(kStandard[i], F_DUPFD_CLOEXEC, 0);
      if (::pipe2(pipes[i].data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    }
    passer_ = ::fork();
    if (passer_ == 0) {
      for (const auto& pipe : pipes) ::close(pipe[1]);
      PassOn({Passer(pipes[0][0], real_[0], shared_->marks[0], *shared_),
              Passer(pipes[1][0], real_[1], shared_->marks[1], *shared_)});
    }
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      ::dup2(pipes[i][1], kStandard[i]);
      ::close(pipes[i][0]);
      ::close(pipes[i][1]);
    }
  }

  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    Wait();
    shared_->lines = 0;
  }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    Wait();
    if (!test.result()->Passed() || shared_->lines == 0) return;
    ADD_FAILURE() << shared_->lines << " lines of output or log are not the test's: \""
                  << shared_->first.data() << "\" is the first";
  }

  void OnTestProgramEnd(const ::testing::UnitTest& /*tests*/) override {
    Wait();
    for (std::size_t i = 0; i < kStandard.size(); ++i) ::dup2(real_[i], kStandard[i]);
    // A process that a test has left may write on, and so it would not end by itself.
    ::kill(passer_, SIGKILL);
    ::waitpid(passer_, nullptr, 0);
  }

  [[noreturn]] static void PassOn(std::array<Passer, kStandard.size()> all) {
    std::array<pollfd, kStandard.size()> ready{};
    for (std::size_t i = 0; i < all.size(); ++i) ready[i] = {all[i].from(), POLLIN, 0};
    const auto is_open = [](const pollfd& one) { return one.fd >= 0; };
    while (std::any_of(ready.begin(), ready.end(), is_open)) {
      if (::poll(ready.data(), ready.size(), -1) < 0) continue;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (ready[i].revents != 0 && !all[i].Pass()) ready[i].fd = -1;
      }
    }
    ::_exit(0);
  }

  /// Waits until all that was written has been passed on.
  void Wait() {
    std::cout.flush();
    std::fflush(nullptr);
    const std::string mark = std::string(kMark) + '\n';
    for (std::size_t i = 0; i < kStandard.size(); ++i) {
      const int before = shared_->marks[i];
      (void)!::write(kStandard[i], mark.data(), mark.size());
      while (shared_->marks[i] == before) {
        if (::waitpid(passer_, nullptr, WNOHANG) != 0) throw std::runtime_error("no passer");
        std::this_thread::yield();
      }
    }
  }

  Shared* shared_ = nullptr;
  std::array<int, kStandard.size()> real_{};
  pid_t passer_ = 0;
};

/// Listens before GoogleTest begins. (The listeners own it.)
[[maybe_unused]] const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Quiet);
  return true;
}();

void TellLog(const char* format) { std::cerr << "to the system's log: " << format << '\n'; }

}  // namespace

// In place of the C library's, for other libraries too; what was compiled with its checks calls the
// last two.
#pragma GCC visibility push(default)
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
void syslog(int /*priority*/, const char* format, ...) { TellLog(format); }
void vsyslog(int /*priority*/, const char* format, va_list) { TellLog(format); }
void __syslog_chk(int /*priority*/, int /*flag*/, const char* format, ...) { TellLog(format); }
void __vsyslog_chk(int /*priority*/, int /*flag*/, const char* format, va_list) { TellLog(format); }
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
}
#pragma GCC visibility pop
