#pragma once

#include <opentelemetry/trace/tracer.h>

#include <boost/asio/awaitable.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace doclock::samples {

using Tracer = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer>;
using SpanContext = opentelemetry::trace::SpanContext;

/// The span of one call of doclock, under the caller's span. It begins and ends with the object.
class CallSpan {
 public:
  /// @param parent the span above it; an invalid one means that which is active on this thread
  CallSpan(const Tracer& tracer, const std::string& name,
           const SpanContext& parent = SpanContext::GetInvalid());
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;
  ~CallSpan();

  [[nodiscard]] const opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span>& span() const {
    return span_;
  }
  /// Inside a catch block: the call has thrown. Notes the code, but not the text, which has the
  /// key.
  void Failed();

 private:
  opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span> span_;
};

/// Calls `call` in a span under the one that is active on this thread, and makes it active
/// meanwhile.
template <class F>
std::invoke_result_t<F&> InSpan(const Tracer& tracer, const std::string& name, F&& call) {
  CallSpan span(tracer, name);
  const opentelemetry::trace::Scope active(span.span());
  try {
    return call();
  } catch (...) {
    span.Failed();
    throw;
  }
}

/// As InSpan, for what a coroutine awaits. Nothing becomes active: other coroutines run on this
/// thread meanwhile, and this one may go on on another. So the parent has to be given.
template <class T, class Executor>
boost::asio::awaitable<T, Executor> InSpanAsync(Tracer tracer, std::string name, SpanContext parent,
                                                boost::asio::awaitable<T, Executor> call) {
  CallSpan span(tracer, name, parent);
  try {
    co_return co_await std::move(call);
  } catch (...) {
    span.Failed();
    throw;
  }
}

}  // namespace doclock::samples
