#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "options.h"
#include "report.h"

namespace order_saga {

/// A descriptor, closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int number() const { return number_; }
  void Close();

 private:
  int number_;
};

/// A worker as the supervisor sees it: a process with a pipe to it and a pipe from it. One that is
/// still there when this goes is killed.
class WorkerProcess {
 public:
  /// Starts this program once more. @throws std::system_error
  explicit WorkerProcess(const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;

  [[nodiscard]] int number() const { return number_; }
  /// Was it ended by kill -9?
  [[nodiscard]] bool killed() const { return killed_; }
  /// The descriptor where reports arrive; -1 if no more can come.
  [[nodiscard]] int reports() const { return reports_.number(); }

  /// Sends one of the letters of report.h. A worker that is gone does not hear it.
  void Tell(char letter);
  /// Lets the worker end after its present step.
  void Stop() { control_.Close(); }
  /// kill -9.
  void Kill();
  /// Reads what has arrived, waiting if nothing has.
  std::vector<Report> Read();
  /// Waits for the end of the process: nothing if it ended by itself or was killed, else what
  /// happened.
  std::optional<std::string> Wait();

 private:
  int number_;
  pid_t pid_ = -1;
  bool killed_ = false;
  Descriptor control_;
  Descriptor reports_;
  std::string unread_;
};

}  // namespace order_saga
