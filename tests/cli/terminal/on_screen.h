#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/program.h"

namespace doclock::cli_test {

/// A program as the foreground of a terminal of its own, of 80 columns and 24 rows.
class OnScreen {
 public:
  explicit OnScreen(std::vector<std::string> command, const std::vector<std::string>& environment)
      : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_TRUE(master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0);
    const std::string name = ::ptsname(master_);
    // Kept open: its modes can be looked at, and are those before, when the command has ended.
    slave_ = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(slave_, TIOCSWINSZ, &size);
    ::tcgetattr(slave_, &before_);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setsid();
    const int slave = ::open(name.c_str(), O_RDWR);
    for (const int number : {0, 1, 2}) ::dup2(slave, number);
    for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
    ::execvp(arguments[0], arguments.data());
    ::_exit(125);
  }
  OnScreen(const OnScreen&) = delete;
  OnScreen& operator=(const OnScreen&) = delete;
  ~OnScreen() {
    if (code_ < 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(slave_);
    ::close(master_);
  }

  void Type(const std::string& keys) const {
    EXPECT_EQ(::write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void Signal(int number) const { ::kill(pid_, number); }
  /// Does it print this, from now on?
  bool Shows(const std::string& text) {
    printed_.clear();
    return Eventually([&] {
      Read();
      return printed_.find(text) != std::string::npos;
    });
  }
  /// Its exit code, or 128 and the signal's number. All of its output is read.
  int End() {
    int status = 0;
    EXPECT_TRUE(Eventually([&] {
      Read();
      return ::waitpid(pid_, &status, WNOHANG) == pid_;
    }));
    Read();
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return code_;
  }
  [[nodiscard]] const std::string& printed() const { return printed_; }
  /// Is the terminal as it was: its modes, and the screen?
  [[nodiscard]] bool IsRestored() const {
    termios now{};
    ::tcgetattr(slave_, &now);
    const bool modes = now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
                       now.c_oflag == before_.c_oflag;
    return modes && printed_.rfind("\x1b[?1049l") != std::string::npos &&
           printed_.rfind("\x1b[?1049l") > printed_.rfind("\x1b[?1049h") + 1;
  }

 private:
  void Read() {
    pollfd ready{.fd = master_, .events = POLLIN, .revents = 0};
    char text[4096];
    while (::poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0) {
      const ssize_t got = ::read(master_, text, sizeof text);
      if (got <= 0) return;
      printed_.append(text, static_cast<std::size_t>(got));
    }
  }

  int master_ = -1, slave_ = -1;
  pid_t pid_ = -1;
  int code_ = -1;
  termios before_{};
  std::string printed_;
};

}  // namespace doclock::cli_test
