#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doclock/observer.h"

namespace doclock {

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
