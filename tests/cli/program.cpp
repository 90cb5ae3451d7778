#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace doclock::cli_test {
namespace {

void Redirect(const std::filesystem::path& file, int flags, int descriptor) {
  const int opened = ::open(file.c_str(), flags, 0600);
  if (opened < 0 || ::dup2(opened, descriptor) < 0) ::_exit(125);
}

}  // namespace

std::string TextOf(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void ShortPause() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

Program::Program(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment, const std::string& input) {
  std::ofstream(folder_ / "in") << input;
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::setsid();
  // Files that killed programs of the same process id left there make libmongoc print a warning.
  ::setenv("MONGOC_DISABLE_SHM", "1", 1);
  for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
  Redirect(folder_ / "in", O_RDONLY, 0);
  Redirect(folder_ / "out", O_WRONLY | O_CREAT, 1);
  Redirect(folder_ / "err", O_WRONLY | O_CREAT, 2);
  ::execvp(arguments[0], arguments.data());
  ::_exit(125);
}

Program::~Program() {
  if (IsOver()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Program::Signal(int number) const { ::kill(pid_, number); }

void Program::Collect(int status) {
  ended_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool Program::IsOver() {
  if (ended_.code >= 0) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  Collect(status);
  return true;
}

Ended Program::Wait() {
  EXPECT_TRUE(Eventually([&] { return IsOver(); })) << "it does not end";
  ended_.out = TextOf(folder_ / "out");
  ended_.err = TextOf(folder_ / "err");
  return ended_;
}

}  // namespace doclock::cli_test
