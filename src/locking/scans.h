#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doclock/export.h"
#include "doclock/store.h"
#include "locking/database.h"

namespace doclock::locking {

// What looks at many documents. See Store.

DOCLOCK_EXPORT void Query(Database& database, Collection& collection, const Filter& filter,
                          const std::function<bool(QueryRow&&)>& sink, Deadline deadline);
DOCLOCK_EXPORT void ReadTogether(Database& database, std::span<StoreOp* const> reads,
                                 Deadline deadline);
DOCLOCK_EXPORT void AcquireNext(Database& database, const Filter& filter, AcquireOp& op, Key& key,
                                Deadline deadline);
/// Fills in AcquireOp::Result::free_in of a search that found nothing. @param now the time of day,
/// if the filter has Due: see Unit::WallTime
DOCLOCK_EXPORT void TellFreeIn(Unit& unit, const Filter& filter,
                               const std::optional<std::chrono::system_clock::time_point>& now,
                               AcquireOp& op);
DOCLOCK_EXPORT std::int64_t Purge(Database& database, Collection& collection, std::int64_t limit,
                                  Deadline deadline);
DOCLOCK_EXPORT LockPage ListLocks(Database& database, Collection& collection,
                                  const LockQuery& query, const std::string& after,
                                  Deadline deadline);

}  // namespace doclock::locking
