#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

/// @file
/// The names of OpenTelemetry's C++ API that this sample uses, for a build without
/// OpenTelemetry. It is no part of that project, and has only these.

namespace opentelemetry {

namespace nostd {
template <class T>
using shared_ptr = std::shared_ptr<T>;
using std::string_view;
}  // namespace nostd

namespace common {
using SystemTimestamp = std::chrono::system_clock::time_point;
using SteadyTimestamp = std::chrono::steady_clock::time_point;
using AttributeValue = std::variant<bool, std::int64_t, nostd::string_view>;
}  // namespace common

namespace trace {

enum class StatusCode : std::uint8_t { kUnset, kOk, kError };

/// Names a span. The real one has two ids in place of the number.
class SpanContext {
 public:
  explicit SpanContext(std::uint64_t number) noexcept : number_(number) {}
  [[nodiscard]] static SpanContext GetInvalid() noexcept { return SpanContext(0); }
  [[nodiscard]] bool IsValid() const noexcept { return number_ != 0; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  std::uint64_t number_;
};

struct StartSpanOptions {
  common::SystemTimestamp start_system_time;
  common::SteadyTimestamp start_steady_time;
  SpanContext parent = SpanContext::GetInvalid();
};

struct EndSpanOptions {
  common::SteadyTimestamp end_steady_time;
};

class Span {
 public:
  Span() = default;
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  virtual ~Span() = default;
  virtual void SetAttribute(nostd::string_view key,
                            const common::AttributeValue& value) noexcept = 0;
  virtual void AddEvent(nostd::string_view name, common::SystemTimestamp time) noexcept = 0;
  virtual void SetStatus(StatusCode code, nostd::string_view description) noexcept = 0;
  virtual void End(const EndSpanOptions& options) noexcept = 0;
  [[nodiscard]] virtual SpanContext GetContext() const noexcept = 0;
};

/// Makes a span the active one of this thread.
class Scope final {
 public:
  explicit Scope(const nostd::shared_ptr<Span>& span) noexcept
      : before_(std::exchange(active_, span->GetContext())) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { active_ = before_; }
  /// The real API has Tracer::GetCurrentSpan().
  [[nodiscard]] static SpanContext active() noexcept { return active_; }

 private:
  static inline thread_local SpanContext active_ = SpanContext::GetInvalid();
  SpanContext before_;
};

class Tracer {
 public:
  Tracer() = default;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  virtual ~Tracer() = default;
  virtual nostd::shared_ptr<Span> StartSpan(nostd::string_view name,
                                            const StartSpanOptions& options) noexcept = 0;
};

}  // namespace trace
}  // namespace opentelemetry
