#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// How far the clocks of the members differ. A holder gives up its lease earlier by that much,
/// because the next primary counts it by its own clock. Compares only members' clocks with each
/// other, never this machine's. Thread-safe.
class Clocks {
 public:
  explicit Clocks(Server& server) : server_(server) {}
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  /// Asks every reachable member for its time. The last answer of a member counts while it is away.
  /// Returns within about `budget`; true if every member has answered.
  bool Measure(std::chrono::milliseconds budget);

  /// An upper bound of the largest difference between two members.
  [[nodiscard]] std::chrono::nanoseconds skew() const;
  /// The value for StoreTraits::clock_margin.
  [[nodiscard]] std::chrono::nanoseconds margin() const;

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  /// Bounds for a member's clock minus the time since this machine was started.
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
