#include "doclock/prometheus_observer.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace doclock {
namespace {

/// Upper bounds, in seconds.
constexpr std::array kBounds{0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0};

/// A label's value: collections' names need no escaping, but who knows.
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

std::string NumberText(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

std::string LabelsOf(std::string_view collection) {
  return "collection=\"" + Escaped(collection) + "\"";
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

  /// Name and labels, as they are printed.
  using Series = std::pair<std::string, std::string>;

  mutable std::mutex mutex;
  std::map<Series, std::uint64_t> counters;
  std::map<Series, Histogram> histograms;

  void Count(const char* name, std::string labels) {
    const std::lock_guard guard(mutex);
    ++counters[{name, std::move(labels)}];
  }
  void Count(const char* name, const LockEvent& event) { Count(name, LabelsOf(event.collection)); }
  void Measure(const char* name, const LockEvent& event, std::chrono::nanoseconds time) {
    const std::lock_guard guard(mutex);
    histograms[{name, LabelsOf(event.collection)}].Add(time);
  }
};

PrometheusObserver::PrometheusObserver() : counts_(std::make_unique<Counts>()) {}

PrometheusObserver::~PrometheusObserver() = default;

void PrometheusObserver::OnGranted(const LockEvent& event, std::chrono::nanoseconds waited,
                                   bool handed_over) {
  counts_->Count("doclock_granted_total", event);
  if (handed_over) counts_->Count("doclock_handed_over_total", event);
  counts_->Measure("doclock_wait_seconds", event, waited);
}

void PrometheusObserver::OnBusy(const LockEvent& event, Errc code, const LockHolder&) {
  const char* reason = "busy";
  if (code == Errc::kTimedOut) reason = "timed_out";
  if (code == Errc::kCancelled) reason = "cancelled";
  counts_->Count("doclock_refused_total",
                 LabelsOf(event.collection) + ",reason=\"" + reason + "\"");
}

void PrometheusObserver::OnRenewed(const LockEvent& event) {
  counts_->Count("doclock_renewed_total", event);
}

void PrometheusObserver::OnRenewalFailing(const LockEvent& event, std::chrono::nanoseconds) {
  counts_->Count("doclock_renewals_failing_total", event);
}

void PrometheusObserver::OnLost(const LockEvent& event) {
  counts_->Count("doclock_lost_total", event);
}

void PrometheusObserver::OnReleased(const LockEvent& event, std::chrono::nanoseconds held) {
  counts_->Count("doclock_released_total", event);
  counts_->Measure("doclock_hold_seconds", event, held);
}

void PrometheusObserver::OnDiscarded(const LockEvent& event, std::chrono::nanoseconds held) {
  counts_->Count("doclock_discarded_total", event);
  counts_->Measure("doclock_hold_seconds", event, held);
}

void PrometheusObserver::OnInDoubt(const LockEvent& event) {
  counts_->Count("doclock_in_doubt_total", event);
}

std::string PrometheusObserver::Text() const {
  const std::lock_guard guard(counts_->mutex);
  std::string text, last;
  const auto head = [&](const std::string& name, const char* type) {
    if (name != last) text += "# TYPE " + name + " " + type + "\n";
    last = name;
  };
  for (const auto& [series, count] : counts_->counters) {
    const auto& [name, labels] = series;
    head(name, "counter");
    text += name + "{" + labels + "} " + std::to_string(count) + "\n";
  }
  for (const auto& [series, histogram] : counts_->histograms) {
    const auto& [name, labels] = series;
    head(name, "histogram");
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      text += name + "_bucket{" + labels + ",le=\"" + NumberText(kBounds[i]) + "\"} " +
              std::to_string(histogram.buckets[i]) + "\n";
    }
    text += name + "_bucket{" + labels + ",le=\"+Inf\"} " + std::to_string(histogram.count) + "\n";
    text += name + "_sum{" + labels + "} " + NumberText(histogram.sum) + "\n";
    text += name + "_count{" + labels + "} " + std::to_string(histogram.count) + "\n";
  }
  return text;
}

}  // namespace doclock
