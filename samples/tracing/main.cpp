// Two kinds of spans: of each call, under the caller's span (call_span.h), and of each lock, from
// the wait to the end of the handle, as an Observer hears of it (lock_spans.h). They are written
// for OpenTelemetry's C++ API; this program prints them.

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "call_span.h"
#include "doclock/doclock.h"
#include "lock_spans.h"
#include "recorded_spans.h"

using namespace std::chrono_literals;
using doclock::samples::CallSpan;
using doclock::samples::InSpan;
using doclock::samples::LockSpans;
using doclock::samples::RecordedSpan;
using doclock::samples::RecordedSpans;

struct Parcel {
  std::string id;
  std::string status = "packed";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Parcel, id, status)

namespace {

/// A request of the service, with a span of its own.
void Ship(const std::shared_ptr<RecordedSpans>& spans,
          const doclock::LockingRepository<Parcel>& parcels) {
  const CallSpan request(spans, "PUT /parcels/p1");
  const opentelemetry::trace::Scope active(request.span());
  auto parcel = InSpan(spans, "lock", [&] { return parcels.Lock("p1", {.wait = 5s}); });
  parcel->status = "shipped";
  InSpan(spans, "release", [&] { parcel.Release(); });
}

void Print(const RecordedSpan& span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span.duration).count();
  std::cout << span.number;
  if (span.parent != 0) std::cout << " under " << span.parent;
  std::cout << "  " << span.name << "  " << ms << " ms" << (span.error ? "  ERROR" : "");
  for (const auto& [name, value] : span.attributes) std::cout << "  " << name << "=" << value;
  std::cout << '\n';
}

}  // namespace

int main() {
  // With OpenTelemetry: opentelemetry::trace::Provider::GetTracerProvider()->GetTracer("doclock").
  const auto spans = std::make_shared<RecordedSpans>();
  {
    const doclock::LockManager manager{doclock::OpenStore("memory:"),
                                       {.observer = std::make_shared<LockSpans>(spans)}};
    const doclock::LockingRepository<Parcel> parcels{manager, "parcels"};
    auto first = parcels.Lock(Parcel{"p1"});
    std::jthread request([&] { Ship(spans, parcels); });
    std::this_thread::sleep_for(30ms);
    static_cast<void>(parcels.TryLock("p1"));  // busy
    first.Release();                           // hands the lock over
  }
  for (const RecordedSpan& span : spans->all()) Print(span);
  return spans->all().size() == 6 ? 0 : 1;
}
