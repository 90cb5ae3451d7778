#include "call_span.h"

#include <chrono>

#include "doclock/errors.h"

namespace doclock::samples {

CallSpan::CallSpan(const Tracer& tracer, const std::string& name, const SpanContext& parent) {
  opentelemetry::trace::StartSpanOptions options;
  options.start_system_time = std::chrono::system_clock::now();
  options.start_steady_time = std::chrono::steady_clock::now();
  options.parent = parent;
  span_ = tracer->StartSpan(name, options);
}

CallSpan::~CallSpan() {
  opentelemetry::trace::EndSpanOptions options;
  options.end_steady_time = std::chrono::steady_clock::now();
  span_->End(options);
}

void CallSpan::Failed() {
  std::string why = "another exception";
  try {
    throw;
  } catch (const Error& error) {
    why = error.code().message();
  } catch (...) {  // its text may say anything
  }
  const opentelemetry::nostd::string_view text(why);
  span_->SetAttribute("error.type", text);
  span_->SetStatus(opentelemetry::trace::StatusCode::kError, text);
}

}  // namespace doclock::samples
