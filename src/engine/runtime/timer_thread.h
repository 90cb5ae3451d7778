#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "doclock/time.h"

namespace doclock::detail {

/// The engine thread: runs posted tasks, and scheduled ones when they are due. Thread-safe.
class TimerThread {
 public:
  TimerThread();
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;
  ~TimerThread();

  std::uint64_t Schedule(TimePoint when, std::function<void()> task);
  void Cancel(std::uint64_t id) noexcept;
  void Post(std::function<void()> task);
  [[nodiscard]] bool OnOwnThread() const noexcept;
  /// Runs what is posted, drops what is scheduled, and ends.
  void Stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::unique_ptr<std::thread>
      thread_;  ///< On the heap for the sake of forked children; see TaskThreads.
  const std::uint32_t fork_generation_;
};

}  // namespace doclock::detail
