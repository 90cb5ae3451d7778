#include "doclock/observer.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace doclock {
namespace {

/// Upper bounds, in seconds.
constexpr std::array kBounds{0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0};

/// The counters, in the order of the output.
enum Counter : std::size_t {
  kGranted,
  kHandedOver,
  kRenewed,
  kRenewalsFailing,
  kLost,
  kReleased,
  kDiscarded,
  kInDoubt,
  kBusy,
  kTimedOut,
  kCancelled,
  kCounters
};

struct CounterText {
  const char* name;
  const char* help;
  const char* reason;  ///< A label; null: none.
};

constexpr std::array<CounterText, kCounters> kCounterTexts{{
    {"doclock_granted_total", "Locks granted.", nullptr},
    {"doclock_handed_over_total", "Of them, handed over by a holder of this process.", nullptr},
    {"doclock_renewed_total", "Leases renewed.", nullptr},
    {"doclock_renewals_failing_total", "Renewals that failed; renewing goes on.", nullptr},
    {"doclock_lost_total", "Locks lost.", nullptr},
    {"doclock_released_total", "Locks released, or erased with their document.", nullptr},
    {"doclock_discarded_total", "Locks given up, their changes not written.", nullptr},
    {"doclock_in_doubt_total", "Writes whose outcome could not be found out.", nullptr},
    {"doclock_refused_total", "Callers that did not get a lock.", "busy"},
    {"doclock_refused_total", "Callers that did not get a lock.", "timed_out"},
    {"doclock_refused_total", "Callers that did not get a lock.", "cancelled"},
}};

/// Escapes a label's value. Names of collections need no escaping today.
std::string Escaped(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Whatever the decimal point of the host's locale is.
std::string NumberText(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value, std::chars_format::general, 9);
  return {text.data(), end.ptr};
}

std::string LabelsOf(std::string_view collection) {
  return "collection=\"" + Escaped(collection) + "\"";
}

void AppendHead(std::string& text, const std::string& name, const char* help, const char* type) {
  text += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

}  // namespace

struct PrometheusObserver::Counts {
  struct Histogram {
    std::array<std::uint64_t, kBounds.size()> buckets{};
    std::uint64_t count = 0;
    double sum = 0;

    void Add(std::chrono::nanoseconds time) {
      const double seconds = std::chrono::duration<double>(time).count();
      for (std::size_t i = 0; i < kBounds.size(); ++i) {
        if (seconds <= kBounds[i]) ++buckets[i];
      }
      ++count;
      sum += seconds;
    }
  };

  /// The counts of one collection. All are shown from its first event on, so that a rate is known
  /// from the second scrape on.
  struct PerCollection {
    std::array<std::uint64_t, kCounters> counters{};
    std::int64_t held = 0, waiting = 0;
    Histogram wait, hold;
  };

  mutable std::mutex mutex;
  std::map<std::string, PerCollection, std::less<>> collections;
  std::uint64_t missed = 0;

  /// Call it under the mutex.
  PerCollection& Of(std::string_view collection) {
    const auto found = collections.find(collection);
    return found != collections.end() ? found->second : collections[std::string(collection)];
  }
  void Count(Counter counter, const LockEvent& event) {
    const std::lock_guard guard(mutex);
    ++Of(event.collection).counters[counter];
  }
  void CountAndHold(Counter counter, const LockEvent& event, std::chrono::nanoseconds held) {
    const std::lock_guard guard(mutex);
    PerCollection& counts = Of(event.collection);
    ++counts.counters[counter];
    counts.hold.Add(held);
  }
  void Move(std::int64_t PerCollection::*gauge, const LockEvent& event, int by) {
    const std::lock_guard guard(mutex);
    Of(event.collection).*gauge += by;
  }
  void AppendGauge(std::string& text, const char* name, const char* help,
                   std::int64_t PerCollection::*which) const;
  void AppendHistogram(std::string& text, const char* name, const char* help,
                       Histogram PerCollection::*which) const;
};

PrometheusObserver::PrometheusObserver(const std::vector<std::string>& collections)
    : counts_(std::make_unique<Counts>()) {
  for (const std::string& name : collections) counts_->Of(name);
}

PrometheusObserver::~PrometheusObserver() = default;

void PrometheusObserver::OnGranted(const LockEvent& event, std::chrono::nanoseconds waited,
                                   bool handed_over) {
  const std::lock_guard guard(counts_->mutex);
  Counts::PerCollection& counts = counts_->Of(event.collection);
  ++counts.counters[kGranted];
  if (handed_over) ++counts.counters[kHandedOver];
  ++counts.held;
  counts.wait.Add(waited);
}

void PrometheusObserver::OnBusy(const LockEvent& event, Errc code, const LockHolder&) {
  Counter counter = kBusy;
  if (code == Errc::kTimedOut) counter = kTimedOut;
  if (code == Errc::kCancelled) counter = kCancelled;
  counts_->Count(counter, event);
}

void PrometheusObserver::OnRenewed(const LockEvent& event) { counts_->Count(kRenewed, event); }

void PrometheusObserver::OnRenewalFailing(const LockEvent& event, std::chrono::nanoseconds) {
  counts_->Count(kRenewalsFailing, event);
}

void PrometheusObserver::OnLost(const LockEvent& event) { counts_->Count(kLost, event); }

void PrometheusObserver::OnReleased(const LockEvent& event, std::chrono::nanoseconds held) {
  counts_->CountAndHold(kReleased, event, held);
}

void PrometheusObserver::OnDiscarded(const LockEvent& event, std::chrono::nanoseconds held) {
  counts_->CountAndHold(kDiscarded, event, held);
}

void PrometheusObserver::OnMissed(std::uint64_t calls) {
  const std::lock_guard guard(counts_->mutex);
  counts_->missed += calls;
}

void PrometheusObserver::OnInDoubt(const LockEvent& event) { counts_->Count(kInDoubt, event); }

void PrometheusObserver::OnEnded(const LockEvent& event) {
  counts_->Move(&Counts::PerCollection::held, event, -1);
}

void PrometheusObserver::OnWaiting(const LockEvent& event) {
  counts_->Move(&Counts::PerCollection::waiting, event, 1);
}

void PrometheusObserver::OnWaitEnded(const LockEvent& event) {
  counts_->Move(&Counts::PerCollection::waiting, event, -1);
}

void PrometheusObserver::Counts::AppendGauge(std::string& text, const char* name, const char* help,
                                             std::int64_t PerCollection::*which) const {
  AppendHead(text, name, help, "gauge");
  for (const auto& [collection, counts] : collections) {
    text += std::string(name) + "{" + LabelsOf(collection) + "} " + std::to_string(counts.*which) +
            "\n";
  }
}

void PrometheusObserver::Counts::AppendHistogram(std::string& text, const char* name,
                                                 const char* help,
                                                 Histogram PerCollection::*which) const {
  AppendHead(text, name, help, "histogram");
  for (const auto& [collection, counts] : collections) {
    const Histogram& histogram = counts.*which;
    const std::string series = std::string(name), labels = LabelsOf(collection);
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      text += series + "_bucket{" + labels + ",le=\"" + NumberText(kBounds[i]) + "\"} " +
              std::to_string(histogram.buckets[i]) + "\n";
    }
    text +=
        series + "_bucket{" + labels + ",le=\"+Inf\"} " + std::to_string(histogram.count) + "\n";
    text += series + "_sum{" + labels + "} " + NumberText(histogram.sum) + "\n";
    text += series + "_count{" + labels + "} " + std::to_string(histogram.count) + "\n";
  }
}

std::string PrometheusObserver::Text() const {
  const std::lock_guard guard(counts_->mutex);
  std::string text;
  std::string_view last;
  for (std::size_t i = 0; i < kCounters; ++i) {
    const CounterText& counter = kCounterTexts[i];
    if (counter.name != last) AppendHead(text, counter.name, counter.help, "counter");
    last = counter.name;
    for (const auto& [collection, counts] : counts_->collections) {
      std::string labels = LabelsOf(collection);
      if (counter.reason != nullptr) labels += std::string(",reason=\"") + counter.reason + "\"";
      text += std::string(counter.name) + "{" + labels + "} " + std::to_string(counts.counters[i]) +
              "\n";
    }
  }
  AppendHead(text, "doclock_missed_events_total",
             "Events that were not counted, because there were too many.", "counter");
  text += "doclock_missed_events_total " + std::to_string(counts_->missed) + "\n";
  counts_->AppendGauge(text, "doclock_held_locks", "Locks held, by handles that have not ended.",
                       &Counts::PerCollection::held);
  counts_->AppendGauge(text, "doclock_waiting_callers", "Callers that wait for a lock.",
                       &Counts::PerCollection::waiting);
  counts_->AppendHistogram(text, "doclock_wait_seconds", "Time until a grant.",
                           &Counts::PerCollection::wait);
  counts_->AppendHistogram(text, "doclock_hold_seconds", "Time until a release or discard.",
                           &Counts::PerCollection::hold);
  return text;
}

}  // namespace doclock
