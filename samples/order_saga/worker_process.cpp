#include "worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

namespace order_saga {
namespace {

void Check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// Neither end stays open in a worker unless it is handed over: a worker that had the end of
/// another one's pipe would keep that one from noticing that the supervisor is gone.
Pipe MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) Check(errno, "pipe2");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Starts this program with these arguments, standard input and standard output.
pid_t Spawn(std::vector<std::string> arguments, int input, int output) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  Check(::posix_spawn_file_actions_init(&files), "posix_spawn_file_actions_init");
  Check(::posix_spawnattr_init(&attributes), "posix_spawnattr_init");
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  // The supervisor ignores SIGPIPE, which a new program would inherit.
  sigset_t defaults{};
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  Check(error, "posix_spawn");
  return pid;
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

void Descriptor::Close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

WorkerProcess::WorkerProcess(const WorkerOptions& options) : number_(options.number) {
  Pipe control = MakePipe();
  Pipe reports = MakePipe();
  pid_ = Spawn({"order_saga", "--worker", std::to_string(options.number), options.store,
                options.collection, options.journal.string(), std::to_string(options.ttl.count())},
               control.read.number(), reports.write.number());
  control_ = std::move(control.write);
  reports_ = std::move(reports.read);
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : number_(other.number_),
      pid_(std::exchange(other.pid_, -1)),
      killed_(other.killed_),
      control_(std::move(other.control_)),
      reports_(std::move(other.reports_)),
      unread_(std::move(other.unread_)) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ < 0) return;
  Kill();
  Wait();
}

void WorkerProcess::Tell(char letter) {
  if (control_.number() >= 0 && ::write(control_.number(), &letter, 1) != 1) control_.Close();
}

void WorkerProcess::Kill() {
  killed_ = true;
  if (pid_ > 0) ::kill(pid_, SIGKILL);  // not waited for yet, so the id is still its own
}

std::vector<Report> WorkerProcess::Read() {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(reports_.number(), buffer.data(), buffer.size());
  if (count <= 0) {
    if (count == 0 || errno != EINTR) reports_.Close();
    return {};
  }
  unread_.append(buffer.data(), static_cast<std::size_t>(count));
  std::vector<Report> reports;
  for (std::size_t end; (end = unread_.find('\n')) != unread_.npos; unread_.erase(0, end + 1)) {
    reports.push_back(nlohmann::json::parse(unread_.substr(0, end)).get<Report>());
  }
  return reports;
}

std::optional<std::string> WorkerProcess::Wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  killed_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (WIFSIGNALED(status) && !killed_) {
    return std::string("was ended by a signal: ") + ::strsignal(WTERMSIG(status));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    return "failed with status " + std::to_string(WEXITSTATUS(status));
  }
  return std::nullopt;
}

}  // namespace order_saga
