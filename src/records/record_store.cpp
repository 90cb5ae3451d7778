#include "doclock/store/record_store.h"

#include "platform/process.h"

namespace doclock {

RecordStore::Transaction::~Transaction() = default;
RecordStore::~RecordStore() = default;

void RecordStore::Transaction::LockCollection(const std::string&) {}

RecordTime RecordStore::Transaction::Now() { return {}; }

RecordTraits RecordStore::traits() const noexcept { return {}; }

void RecordStore::Tell(const std::string&, std::span<const std::string>) {}

std::unique_ptr<Subscription> RecordStore::Watch(const std::string&,
                                                 std::function<void(const std::string&)>) {
  return nullptr;
}

std::string RecordStore::ClockRun() const { return platform::BootId(); }

}  // namespace doclock
