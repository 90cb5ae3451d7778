#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "simulation/machine/fibers.h"

namespace doclock::simulation {

/// True time since the beginning, which no process can see.
using Time = std::chrono::nanoseconds;

/// Time, and what happens when: one thread, one queue. Events of one moment happen in the order
/// they were planned in.
class World {
 public:
  using Task = std::function<void()>;

  explicit World(Fibers& fibers) : fibers_(fibers) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] Time now() const noexcept { return now_; }
  [[nodiscard]] Fibers& fibers() noexcept { return fibers_; }

  /// Plans a task, which must neither throw nor suspend. A past moment is now.
  void At(Time when, Task task);
  void After(Time delay, Task task) { At(now_ + delay, std::move(task)); }

  /// Plays what happens before `end`, and moves the time there. False: too much happened.
  [[nodiscard]] bool PlayUntil(Time end);
  /// Plays until nothing is planned any more. False: there is no end.
  [[nodiscard]] bool PlayToTheEnd();
  /// How many events have happened.
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

 private:
  struct Event {
    Time when;
    std::uint64_t number;
    Task task;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const noexcept {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };
  void PlayOne();

  Fibers& fibers_;
  Time now_{};
  std::uint64_t events_ = 0;
  std::uint64_t planned_ = 0;
  std::vector<Event> queue_;  ///< A heap: std::priority_queue cannot be moved out of.
};

}  // namespace doclock::simulation
