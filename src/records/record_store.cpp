#include "doclock/store/record_store.h"

#include "platform/process.h"

namespace doclock {

RecordStore::Transaction::~Transaction() = default;
RecordStore::~RecordStore() = default;

TimePoint RecordStore::Now() const noexcept { return BootClock::now(); }

std::chrono::system_clock::time_point RecordStore::WallTime() const noexcept {
  return std::chrono::system_clock::now();
}

std::string RecordStore::ClockRun() const { return platform::BootId(); }

std::chrono::nanoseconds RecordStore::ClockMargin() const noexcept {
  return StoreTraits{}.clock_margin;
}

bool RecordStore::IsShared() const noexcept { return true; }

}  // namespace doclock
