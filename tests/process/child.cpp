#include "process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace doclock::test {

Child::Child(std::vector<std::string> arguments, std::vector<std::string> prefix) {
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> to{}, from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes");
  }
  std::vector<std::string> all = std::move(prefix);
  all.emplace_back(DOCLOCK_TEST_HELPER);
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  const int error = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  in_ = to[1];
  out_ = from[0];
  if (error != 0) throw std::runtime_error("cannot start the helper");
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      buffer_(std::move(other.buffer_)) {}

Child::~Child() {
  Kill();
  if (in_ >= 0) ::close(in_);
  if (out_ >= 0) ::close(out_);
}

std::optional<std::string> Child::Line() {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd ready{.fd = out_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 60'000) <= 0) return std::nullopt;
    std::array<char, 65536> chunk{};
    const auto size = ::read(out_, chunk.data(), chunk.size());
    if (size <= 0) return std::nullopt;
    buffer_.append(chunk.data(), static_cast<std::size_t>(size));
  }
}

std::vector<std::string> Child::Rest() {
  std::vector<std::string> lines;
  while (auto line = Line()) lines.push_back(std::move(*line));
  return lines;
}

void Child::Say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(in_, text.data(), text.size()) < 0) throw std::runtime_error("the helper is gone");
}

void Child::Signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

void Child::Kill() {
  Signal(SIGKILL);
  Wait();
}

int Child::Wait() {
  int status = 0;
  if (pid_ > 0) ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

}  // namespace doclock::test
