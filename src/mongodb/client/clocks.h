#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// How far the clocks of the members differ, and so what a holder has to give up of its lease: the
/// next primary counts it by its own clock. Only members' clocks are compared with each other,
/// never this machine's. Thread-safe.
class Clocks {
 public:
  explicit Clocks(Server& server) : server_(server) {}
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  /// Asks every member that can be reached what time it is. What a member said before stands while
  /// it is away. Returns within about `budget`, and whether every member has answered.
  bool Measure(std::chrono::milliseconds budget);

  /// The largest difference between two members, at most.
  [[nodiscard]] std::chrono::nanoseconds skew() const;
  /// What StoreTraits::clock_margin has to be.
  [[nodiscard]] std::chrono::nanoseconds margin() const;

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  /// A member's clock less the time since this machine was started, which lies between these.
  struct Offset {
    Nanoseconds least{};
    Nanoseconds most{};
  };
  bool Ask(mongoc_client_t* client, std::uint32_t member, Offset& offset) const;

  Server& server_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Offset> offsets_;
};

}  // namespace doclock::mongodb
