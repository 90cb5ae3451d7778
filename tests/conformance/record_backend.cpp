#include "conformance/record_backend.h"

#include <mutex>

#include "conformance/map_records.h"

namespace doclock::conformance {

Backend MakeRecords() {
  const auto shelf = std::make_shared<Shelf>();
  const auto clock = std::make_shared<ManualClock>();
  Backend backend;
  backend.clock = clock;
  backend.open_another = [shelf, clock] { return StoreOver(MakeMapRecords(shelf, clock)); };
  backend.store = backend.open_another();
  backend.spoil = [shelf](const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf->mutex);
    shelf->records.at(collection).at(key).lock["version"] = "first";
  };
  backend.spoil_share = [shelf](const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf->mutex);
    shelf->records.at(collection).at(key).lock.at("shares").at(0)["ttl"] = "long";
  };
  return backend;
}

}  // namespace doclock::conformance
