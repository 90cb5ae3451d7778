#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>

/// @file
/// The names of OpenTelemetry's C++ API that lock_spans.cpp uses, for a build without
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

struct StartSpanOptions {
  common::SystemTimestamp start_system_time;
  common::SteadyTimestamp start_steady_time;
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
