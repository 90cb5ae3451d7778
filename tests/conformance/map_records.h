#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "conformance/suite/store_conformance.h"
#include "doclock/store/record_store.h"

namespace doclock::conformance {

/// Which writing transactions exclude each other. All but kAll are faults that stores have.
enum class Excludes : std::uint8_t {
  kAll,
  kOfOneStore,   ///< Those of one store: a mutex stands in for the database's lock.
  kOfFoundRows,  ///< Those that have loaded a record: its row is locked, and a missing one is not.
  kNone,         ///< None: what is read is not locked.
};

/// Where a thread that has looked waits for another one, before it writes: so a fault that is
/// possible happens.
class Rendezvous {
 public:
  void Wait();

 private:
  std::atomic<int> came_ = 0;
};

/// What all stores over the same records share.
struct Shelf {
  std::timed_mutex turn;  ///< Of the transactions.
  std::mutex mutex;       ///< Of the maps.
  std::map<std::string, std::map<Key, Record>> records;
  std::map<std::string, Json> settings;
  Rendezvous rendezvous;
};

/// Records in maps. `shared`: see IsShared().
std::shared_ptr<RecordStore> MakeMapRecords(std::shared_ptr<Shelf> shelf,
                                            std::shared_ptr<const Clock> clock,
                                            Excludes excludes = Excludes::kAll, bool shared = true);

}  // namespace doclock::conformance
