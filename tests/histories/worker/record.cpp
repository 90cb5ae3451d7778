#include "histories/worker/record.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace doclock::histories {

Record::Record(const std::string& file, int process) : process_(process) {
  file_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::runtime_error("cannot write " + file);
}

Record::~Record() { ::close(file_); }

std::int64_t Record::Now() {
  timespec time{};
  // The system call itself: a library that falsifies clocks replaces the function.
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void Record::WriteAt(std::int64_t time, nlohmann::json line) {
  using std::chrono::milliseconds;
  line["t"] = time;
  line["w"] =
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  line["p"] = process_;
  const std::string text = line.dump() + "\n";
  // One call for one line: a kill leaves all of it, or nothing.
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(3);
}

std::int64_t Record::Call(nlohmann::json fields) {
  const std::int64_t id = ++calls_;
  fields["e"] = "call";
  fields["id"] = id;
  Write(std::move(fields));
  return id;
}

}  // namespace doclock::histories
