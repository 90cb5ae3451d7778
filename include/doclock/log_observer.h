#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "doclock/observer.h"

namespace doclock {

/// The level of a log line.
enum class LogLevel : std::uint8_t {
  kDebug,    ///< Granted, renewed, released, refused because busy or cancelled.
  kInfo,     ///< A wait that ran out of time; changes that were discarded.
  kWarning,  ///< A renewal fails, and is tried again; calls were left out.
  kError,    ///< A lock was lost; the outcome of a write is in doubt.
};

/// An Observer that writes what happens to locks as lines of text, for the program's own log:
///
/// ```cpp
/// auto log = std::make_shared<doclock::LogObserver>(
///     [](doclock::LogLevel level, std::string_view line) { spdlog::log(MyLevel(level), line); });
/// ```
///
/// A line names the collection, the key and, where it helps, the holder. Control characters are
/// written as `\x0a`, so that a name cannot forge a line. A line never has a lock id, a body or a
/// store's URL.
///
/// As thread-safe as the sink: one manager calls it from one thread, several managers from several
/// threads. Exceptions of the sink are swallowed.
class DOCLOCK_EXPORT LogObserver : public Observer {
 public:
  /// Receives one line, without a line break. `line` is valid during the call only.
  using Sink = std::function<void(LogLevel level, std::string_view line)>;

  /// @param sink where the lines go
  /// @param least lines below this level are not made
  /// @throws std::invalid_argument if the sink is empty
  explicit LogObserver(Sink sink, LogLevel least = LogLevel::kInfo);
  ~LogObserver() override;

  void OnGranted(const LockEvent& event, std::chrono::nanoseconds waited,
                 bool handed_over) override;
  void OnBusy(const LockEvent& event, Errc code, const LockHolder& holder) override;
  void OnRenewed(const LockEvent& event) override;
  void OnRenewalFailing(const LockEvent& event, std::chrono::nanoseconds remaining) override;
  void OnLost(const LockEvent& event) override;
  void OnReleased(const LockEvent& event, std::chrono::nanoseconds held) override;
  void OnDiscarded(const LockEvent& event, std::chrono::nanoseconds held) override;
  void OnMissed(std::uint64_t calls) override;
  void OnInDoubt(const LockEvent& event) override;

 private:
  /// Makes the line, unless its level is below `least`: what happened, to which lock, and the rest.
  template <class Rest>
  void Log(LogLevel level, const char* what, const LockEvent& event, const Rest& rest) const;

  const Sink sink_;
  const LogLevel least_;
};

}  // namespace doclock
