#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace order_saga {

/// A report of a worker to the supervisor, one line each.
enum class Event {
  kHeld,  ///< "I hold a lock, and do nothing until you say so", as it was asked to.
  kStep,  ///< A step was done and its release acknowledged.
  kLost,  ///< A step was given up: the lock was lost, or the release is in doubt.
};
NLOHMANN_JSON_SERIALIZE_ENUM(Event, {{Event::kHeld, "held"},
                                     {Event::kStep, "step"},
                                     {Event::kLost, "lost"}})

struct Report {
  Event event = Event::kStep;
  std::string saga;
  std::string step;
  std::int64_t fence = 0;
  double waited = 0;  ///< Seconds it took to get the lock.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, event, saga, step, fence, waited)

/// Single letters from the supervisor to a worker. The end of the pipe means: stop.
inline constexpr char kHold = 'h';  ///< Hold the next lock, say so, and wait.
inline constexpr char kGo = 'g';    ///< Never mind; go on.

}  // namespace order_saga
