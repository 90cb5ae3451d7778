#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// The largest difference between the clocks of two members, by the host and port of each.
struct ClockSkew {
  std::chrono::nanoseconds most{};  ///< An upper bound.
  std::string ahead, behind;        ///< Empty where only one member counts.

  /// For messages: by how much which clocks differ.
  [[nodiscard]] std::string Text() const;
};

/// The server's clock, cut off to milliseconds, as its answer to `hello` tells it.
std::optional<std::chrono::milliseconds> LocalTime(const Reply& hello);

/// The time of day by the primary's clock. @throws StoreException
std::chrono::system_clock::time_point WallTime(Server& server, std::chrono::milliseconds budget);

/// How far the clocks of the members differ. A holder gives up its lease earlier by that much,
/// because the next primary counts it by its own clock. So only members that may become the primary
/// count. Compares only members' clocks with each other, never this machine's. Thread-safe.
class Clocks {
 public:
  explicit Clocks(Server& server) : server_(server) {}
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  /// Asks every reachable member for its time. The last answer of a member counts while it is away,
  /// until it is no member any more or cannot become the primary.
  /// Returns within about `budget`; true if every member that counts has answered.
  bool Measure(std::chrono::milliseconds budget);

  [[nodiscard]] ClockSkew skew() const;
  /// The value for StoreTraits::clock_margin.
  [[nodiscard]] std::chrono::nanoseconds margin() const;

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  /// Bounds for a member's clock minus the time since this machine was started.
  struct Offset {
    Nanoseconds least{};
    Nanoseconds most{};
    std::string member{};  ///< Host and port.
  };
  bool Ask(mongoc_client_t* client, std::uint32_t member, Offset& offset) const;

  Server& server_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Offset> offsets_;  ///< By the driver's ids.
  ClockSkew skew_;
};

/// Measures the members' clocks at once, and then periodically on a thread of its own.
class ClockWatch {
 public:
  explicit ClockWatch(std::shared_ptr<Server> server);
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch();

  [[nodiscard]] ClockSkew skew() const { return clocks_.skew(); }
  [[nodiscard]] std::chrono::nanoseconds margin() const { return clocks_.margin(); }

 private:
  bool Discover();
  void Run(const std::stop_token& stop, bool complete);

  const std::shared_ptr<Server> server_;
  Clocks clocks_;
  std::jthread thread_;
};

}  // namespace doclock::mongodb
