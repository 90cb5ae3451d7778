#include "doclock/store/record_store.h"

#include "platform/process.h"

namespace doclock {

RecordStore::Transaction::~Transaction() = default;
RecordStore::~RecordStore() = default;

TimePoint RecordStore::Now() const noexcept { return BootClock::now(); }

std::string RecordStore::ClockRun() const { return platform::BootId(); }

bool RecordStore::IsShared() const noexcept { return true; }

}  // namespace doclock
