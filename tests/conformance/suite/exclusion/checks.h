#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "../store_conformance.h"

namespace doclock::conformance {

/// A race of several clients over the same data.
struct ExclusionCheck {
  std::string_view name;
  /// Returns what was wrong; empty: nothing. The collection is empty at first.
  std::string (*run)(std::vector<Client>& clients);
  bool queues = false;  ///< For stores with StoreTraits::queues.
};

inline void PrintTo(const ExclusionCheck& check, std::ostream* out) { *out << check.name; }

/// Clients that take turns as the holder of one lock count up its document.
std::string CountUnderTheLock(std::vector<Client>& clients);
/// The same, and those that wait stand in the queue.
std::string CountInTheQueue(std::vector<Client>& clients);
/// Each client wants two locks in one call.
std::string CountInBatches(std::vector<Client>& clients);
/// Shares beside holders, and no more of them than the limit.
std::string ShareBesideHolders(std::vector<Client>& clients);
/// Clients count up a document by its version, without a lock.
std::string CountByVersion(std::vector<Client>& clients);
/// Half of them does so, the other half takes the lock.
std::string CountBesideTheLock(std::vector<Client>& clients);
/// All lock a document that does not exist: one of them creates it.
std::string CreateOnce(std::vector<Client>& clients);
/// All insert the same document, then all erase it.
std::string InsertAndEraseOnce(std::vector<Client>& clients);
/// All insert another document with the same value in a unique index.
std::string InsertUniqueValuesOnce(std::vector<Client>& clients);
/// One makes a unique index while another inserts a value that is there already.
std::string IndexBesideAnInsert(std::vector<Client>& clients);
/// All take the next document until none is left.
std::string TakeEachOnce(std::vector<Client>& clients);

inline const std::vector<ExclusionCheck> kExclusionChecks = {
    {"CountUnderTheLock", CountUnderTheLock},
    {"CountInTheQueue", CountInTheQueue, true},
    {"CountInBatches", CountInBatches},
    {"ShareBesideHolders", ShareBesideHolders},
    {"CountByVersion", CountByVersion},
    {"CountBesideTheLock", CountBesideTheLock},
    {"CreateOnce", CreateOnce},
    {"InsertAndEraseOnce", InsertAndEraseOnce},
    {"InsertUniqueValuesOnce", InsertUniqueValuesOnce},
    {"IndexBesideAnInsert", IndexBesideAnInsert},
    {"TakeEachOnce", TakeEachOnce},
};

}  // namespace doclock::conformance
