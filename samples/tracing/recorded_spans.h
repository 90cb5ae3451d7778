#pragma once

#include <opentelemetry/trace/tracer.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace doclock::samples {

/// A span that has ended.
struct RecordedSpan {
  std::string name;
  std::uint64_t number = 0;
  std::uint64_t parent = 0;  ///< Its number; 0: none.
  std::chrono::nanoseconds duration{};
  bool error = false;
  std::map<std::string, std::string> attributes;
  std::vector<std::string> events;
};

/// What an exporter would send, kept in memory. Thread-safe.
class RecordedSpans final : public opentelemetry::trace::Tracer {
 public:
  opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span> StartSpan(
      opentelemetry::nostd::string_view name,
      const opentelemetry::trace::StartSpanOptions& options) noexcept override {
    const auto active = opentelemetry::trace::Scope::active();
    const auto parent = options.parent.IsValid() ? options.parent : active;
    return std::make_shared<Recording>(*this, name, options.start_steady_time, parent.number());
  }
  /// In the order of their ends.
  [[nodiscard]] std::vector<RecordedSpan> all() const {
    const std::lock_guard guard(mutex_);
    return all_;
  }

 private:
  class Recording final : public opentelemetry::trace::Span {
   public:
    Recording(RecordedSpans& to, std::string_view name, std::chrono::steady_clock::time_point start,
              std::uint64_t parent)
        : to_(to), start_(start) {
      span_.name = name;
      span_.number = ++to.started_;
      span_.parent = parent;
    }
    void SetAttribute(opentelemetry::nostd::string_view key,
                      const opentelemetry::common::AttributeValue& value) noexcept override {
      std::string& text = span_.attributes[std::string(key)];
      if (const bool* yes = std::get_if<bool>(&value)) text = *yes ? "true" : "false";
      if (const auto* number = std::get_if<std::int64_t>(&value)) text = std::to_string(*number);
      if (const auto* word = std::get_if<opentelemetry::nostd::string_view>(&value)) text = *word;
    }
    void AddEvent(opentelemetry::nostd::string_view name,
                  opentelemetry::common::SystemTimestamp) noexcept override {
      span_.events.emplace_back(name);
    }
    void SetStatus(opentelemetry::trace::StatusCode code,
                   opentelemetry::nostd::string_view) noexcept override {
      span_.error = code == opentelemetry::trace::StatusCode::kError;
    }
    [[nodiscard]] opentelemetry::trace::SpanContext GetContext() const noexcept override {
      return opentelemetry::trace::SpanContext(span_.number);
    }
    void End(const opentelemetry::trace::EndSpanOptions& options) noexcept override {
      span_.duration = options.end_steady_time - start_;
      const std::lock_guard guard(to_.mutex_);
      to_.all_.push_back(span_);
    }

   private:
    RecordedSpans& to_;
    std::chrono::steady_clock::time_point start_;
    RecordedSpan span_;
  };

  std::atomic<std::uint64_t> started_ = 0;
  mutable std::mutex mutex_;
  std::vector<RecordedSpan> all_;
};

}  // namespace doclock::samples
