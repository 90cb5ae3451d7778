#pragma once

#include <opentelemetry/trace/tracer.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "doclock/observer.h"

namespace doclock::samples {

/// Makes a span of each lock, from the beginning of the wait to the end of the handle, and of each
/// attempt that got no lock. Give it to ManagerOptions::observer.
///
/// Span "doclock.lock", with the attributes doclock.collection, doclock.key, doclock.outcome
/// (released, discarded, lost, in doubt, detached; busy, timed out, cancelled) and, once it is
/// granted, doclock.waited_ms and doclock.handed_over; events "granted", "renewal failing". Lost,
/// in doubt and timed out are errors.
///
/// An Observer is called on a thread of its own, so these spans have no parent (those of
/// call_span.h have): search them by collection and key. Several waiters or shares of one key in
/// one process look alike to it; the oldest of them is taken for the one that ends.
class LockSpans final : public Observer {
 public:
  using Tracer = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer>;

  explicit LockSpans(Tracer tracer) : tracer_(std::move(tracer)) {}

  void OnWaiting(const LockEvent&) override;
  void OnWaitEnded(const LockEvent&) override;
  void OnGranted(const LockEvent&, std::chrono::nanoseconds waited, bool handed_over) override;
  void OnBusy(const LockEvent&, Errc code, const LockHolder&) override;
  void OnRenewalFailing(const LockEvent&, std::chrono::nanoseconds remaining) override;
  void OnLost(const LockEvent&) override;
  void OnReleased(const LockEvent&, std::chrono::nanoseconds held) override;
  void OnDiscarded(const LockEvent&, std::chrono::nanoseconds held) override;
  void OnInDoubt(const LockEvent&) override;
  void OnEnded(const LockEvent&) override;

 private:
  using Span = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span>;

  /// A moment by the two clocks of a span.
  struct Moment {
    std::chrono::system_clock::time_point system = std::chrono::system_clock::now();
    std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();

    [[nodiscard]] Moment Before(std::chrono::nanoseconds time) const;
  };
  struct Held {
    Span span;
    std::chrono::steady_clock::time_point granted;
    std::chrono::steady_clock::time_point ended;
    const char* outcome = nullptr;  ///< None: the handle has not ended.
  };
  /// One document.
  struct Document {
    std::deque<Moment> waits;
    std::deque<Moment> over;  ///< Waits that have ended; OnGranted or OnBusy comes next.
    std::deque<Held> held;
  };
  using Name = std::pair<std::string, Key>;

  static Name NameOf(const LockEvent& event) { return {std::string(event.collection), event.key}; }
  Span Start(const LockEvent& event, const Moment& start) const;
  /// Notes how the oldest lock of a document ends. @param held how long it was held
  void Note(const LockEvent& event, const char* outcome, std::chrono::nanoseconds held);
  void Forget(const Name& name);

  const Tracer tracer_;
  std::map<Name, Document> documents_;  ///< Calls come one at a time.
};

}  // namespace doclock::samples
