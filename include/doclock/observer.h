#pragma once

/// @file
/// What happens to locks, told to the program: Observer, as lines for a log, and as metrics for
/// Prometheus.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/export.h"

namespace doclock {

/// One document, as an Observer sees it. Valid during the call only.
struct LockEvent {
  std::string_view collection;  ///< The collection's name.
  const Key& key;               ///< The key; empty for a LockNext() that got no document.
  /// In OnBusy and OnWaiting: as LockException::waiting() tells it. Empty in other calls.
  std::optional<int> waiting = {};
};

/// Receives what happens to locks, for metrics and logs. Override what you need.
///
/// Calls come one at a time, on the manager's notifier thread. Those of one grant come in order;
/// the next grant of the lock, by another thread, may be reported before the end of the earlier
/// one. Of OnLost, OnReleased and OnDiscarded there is at most one for each OnGranted: a release
/// that comes through although the lock was lost meanwhile is not reported.
///
/// The notifier never renews leases, so a slow observer delays only other observers' calls and
/// `lost()` callbacks. An observer may call the library, but must not destroy the last LockManager.
/// Its exceptions are swallowed. No event carries a lock id, a body or a store's URL.
class DOCLOCK_EXPORT Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer();

  /// A lock was granted after `waited`. `handed_over`: a holder in this process handed it over.
  virtual void OnGranted(const LockEvent&, std::chrono::nanoseconds waited, bool handed_over);
  /// A caller met a busy lock, or its wait ended (code: kBusy, kTimedOut, kCancelled).
  virtual void OnBusy(const LockEvent&, Errc code, const LockHolder& holder);
  /// A lease was renewed.
  virtual void OnRenewed(const LockEvent&);
  /// A renewal failed. The lease still has `remaining`, which is more than zero, and the library
  /// tries again.
  virtual void OnRenewalFailing(const LockEvent&, std::chrono::nanoseconds remaining);
  /// A lease was lost.
  virtual void OnLost(const LockEvent&);
  /// A lock was released after `held`, or its document erased. A named lock is reported here
  /// however it was released.
  virtual void OnReleased(const LockEvent&, std::chrono::nanoseconds held);
  /// A lock was released after `held` without writing changes: by Discard(), or by the handle's
  /// destructor. If the store is unavailable just then, the release goes on in the background.
  virtual void OnDiscarded(const LockEvent&, std::chrono::nanoseconds held);
  /// This many calls were left out, because this observer was thousands of calls behind. OnLost and
  /// OnInDoubt are never left out, nor are OnEnded and OnWaitEnded, unless the OnGranted or
  /// OnWaiting before them was left out: then they are too, and are not counted.
  virtual void OnMissed(std::uint64_t calls);
  /// The outcome of a write is unknown.
  virtual void OnInDoubt(const LockEvent&);
  /// The handle of a granted lock has ended: the lock was released, discarded, erased, detached or
  /// lost, or a write is in doubt. Called once for each OnGranted, after it, and after the call
  /// that says what happened. Grants minus ends are the locks that this manager holds.
  virtual void OnEnded(const LockEvent&);
  /// A caller began to wait: the lock is busy, or others come first. A caller with `wait` = 0 does
  /// not wait.
  virtual void OnWaiting(const LockEvent&);
  /// A caller waits no longer, whatever it got. Called once for each OnWaiting, after it, and
  /// before the OnGranted or OnBusy that follows.
  virtual void OnWaitEnded(const LockEvent&);
};

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

/// An Observer that counts what happens to locks and shows it in the text format of Prometheus
/// (0.0.4), per collection and never per key:
///
/// - `doclock_granted_total`, `doclock_handed_over_total`, `doclock_renewed_total`,
///   `doclock_renewals_failing_total`, `doclock_lost_total`, `doclock_released_total`,
///   `doclock_discarded_total`, `doclock_in_doubt_total`,
/// - `doclock_refused_total` with the label `reason`: busy, timed_out, cancelled,
/// - `doclock_missed_events_total`, without a collection: the events missing in the counts above,
/// - the gauges `doclock_held_locks` (granted to a handle that has not ended) and
///   `doclock_waiting_callers`,
/// - the histograms `doclock_wait_seconds` (until a grant) and `doclock_hold_seconds` (until a
///   release or discard).
///
/// Give it to ManagerOptions::observer, of any number of managers, and serve Text() on `/metrics`.
/// Thread-safe.
class DOCLOCK_EXPORT PrometheusObserver : public Observer {
 public:
  /// @param collections the collections to show from the start; others appear with their first
  /// event, with all their counters
  explicit PrometheusObserver(const std::vector<std::string>& collections = {});
  ~PrometheusObserver() override;

  /// Returns the counts so far, as text.
  [[nodiscard]] std::string Text() const;

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
  void OnEnded(const LockEvent& event) override;
  void OnWaiting(const LockEvent& event) override;
  void OnWaitEnded(const LockEvent& event) override;

 private:
  struct Counts;
  std::unique_ptr<Counts> counts_;
};

}  // namespace doclock
