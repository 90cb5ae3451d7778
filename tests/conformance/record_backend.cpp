#include "conformance/record_backend.h"

#include <mutex>

#include "conformance/map_records.h"

namespace doclock::conformance {

namespace {

Backend MakeRecordsThatExclude(Excludes excludes) {
  const auto shelf = std::make_shared<Shelf>();
  const auto clock = std::make_shared<ManualClock>();
  Backend backend;
  backend.clock = clock;
  backend.open_another = [=] { return StoreOver(MakeMapRecords(shelf, clock, excludes)); };
  backend.store = backend.open_another();
  backend.lose_hints = [shelf] { shelf->LoseHints(); };
  backend.spoil = [shelf](const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf->mutex);
    shelf->RecordsToChange(collection).at(key).lock["version"] = "first";
  };
  backend.spoil_share = [shelf](const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf->mutex);
    shelf->RecordsToChange(collection).at(key).lock.at("shares").at(0)["ttl"] = "long";
  };
  return backend;
}

}  // namespace

Backend MakeRecords() { return MakeRecordsThatExclude(Excludes::kAll); }
Backend MakeRecordsByKey() { return MakeRecordsThatExclude(Excludes::kOfSameKeys); }

}  // namespace doclock::conformance
