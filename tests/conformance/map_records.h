#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite/store_conformance.h"
#include "doclock/store/record_store.h"
#include "document/watchers.h"

namespace doclock::conformance {

/// Which writing transactions exclude each other. All but the first two are faults that stores
/// have.
enum class Excludes : std::uint8_t {
  kAll,
  kOfSameKeys,             ///< Those that load the same key, or lock the collection.
  kOfKeysAlone,            ///< As the former, but no transaction locks a collection.
  kOfCollectionsApart,     ///< As kOfSameKeys, but those that load pass a collection's lock.
  kNoneButRaces,           ///< None waits: Commit is raced if what was shown has changed.
  kNoneButRacesOfRecords,  ///< As the former, but a change of the settings is overlooked.
  kOfStaleKeys,            ///< As kOfSameKeys, but it shows what was there when it began.
  kOfOneStore,             ///< Those of one store: a mutex stands in for the database's lock.
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

/// The locks of transactions that exclude each other by keys.
class KeyLocks {
 public:
  /// What a transaction has locked: keys, or nothing for all of a collection.
  using Held = std::set<std::pair<std::string, std::optional<Key>>>;

  /// Adds a lock to those of a transaction, once no other one has it, or one that excludes it.
  /// @throws RacedException if it waits for long, and has others: they may be waited for
  void Add(Held& held, const std::string& collection, const std::optional<Key>& key,
           std::chrono::milliseconds budget);
  void Remove(const Held& held);

 private:
  bool IsFree(const Held& held, const std::string& collection, const std::optional<Key>& key) const;

  std::mutex mutex_;
  std::condition_variable freed_;
  Held all_;
};

/// What is wrong with hints. Each but the first is a fault that stores have.
enum class HintFault : std::uint8_t {
  kNone,
  kSilentGap,  ///< A listener is not called after hints may have been lost.
  kEarlyEnd,   ///< A subscription's end does not wait for a call under way.
};

/// What all stores over the same records share.
struct Shelf {
  using Records = std::map<Key, Record>;

  /// Calls all listeners, as after an outage of the hints.
  void LoseHints();
  /// Returns the records of a collection, to be changed: a copy takes the place of those that a
  /// transaction still shows. With the mutex.
  Records& RecordsToChange(const std::string& collection);

  std::timed_mutex turn;  ///< Of the transactions.
  KeyLocks locks;
  std::mutex mutex;  ///< Of the maps.
  std::map<std::string, std::shared_ptr<Records>> records;
  std::map<std::string, Json> settings;
  /// For Excludes::kNoneButRaces: the last commit that changed a key, or any of a collection.
  std::map<std::pair<std::string, std::optional<Key>>, int> changed;
  int commits = 0;
  std::atomic<int> loads = 0;
  std::atomic<int> shown = 0;  ///< Records that scans have shown.
  Rendezvous rendezvous;
  std::map<std::string, std::shared_ptr<Watchers>> watchers;  ///< Of the hints that are told.
  HintFault hint_fault = HintFault::kNone;
  std::vector<std::unique_ptr<Subscription>> ended_early;
};

/// Records in maps. Those that exclude by keys tell hints, and have four lanes.
/// @param shared see RecordTraits
std::shared_ptr<RecordStore> MakeMapRecords(std::shared_ptr<Shelf> shelf,
                                            std::shared_ptr<const Clock> clock,
                                            Excludes excludes = Excludes::kAll, bool shared = true);

}  // namespace doclock::conformance
