// Locks as spans: what an Observer hears becomes a trace of who waited, held and lost which
// document. lock_spans.cpp is written for OpenTelemetry's C++ API; this program prints the spans.

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "doclock/doclock.h"
#include "lock_spans.h"
#include "recorded_spans.h"

using namespace std::chrono_literals;
using doclock::samples::LockSpans;
using doclock::samples::RecordedSpan;
using doclock::samples::RecordedSpans;

struct Parcel {
  std::string id;
  std::string status = "packed";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Parcel, id, status)

namespace {

void Print(const RecordedSpan& span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span.duration).count();
  std::cout << span.name << "  " << ms << " ms" << (span.error ? "  ERROR" : "");
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
    std::jthread second([&] { parcels.Lock("p1", {.wait = 5s}).Release(); });
    std::this_thread::sleep_for(30ms);
    static_cast<void>(parcels.TryLock("p1"));  // busy
    first->status = "shipped";
    first.Release();  // hands the lock over
  }
  for (const RecordedSpan& span : spans->all()) Print(span);
  return spans->all().size() == 3 ? 0 : 1;
}
