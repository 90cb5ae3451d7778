#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "doclock/locking_repository.h"
#include "doclock/stores/sqlite.h"

namespace doclock::sqlite_test {

using Counters = LockingRepository<nlohmann::json>;

/// By a store and a manager of its own.
inline Counters OpenCounters(const std::filesystem::path& file) {
  LockManager manager(OpenSqliteStore(file, {.sync = SqliteSync::kNormal}));
  return {std::move(manager),
          "counters",
          {.update_retries = 3, .update_wait = std::chrono::minutes(10)}};
}

inline void Increment(nlohmann::json& counter) {
  counter["count"] = counter["count"].get<int>() + 1;
}

/// Counts n times: under the lock ("lock"), optimistically ("save"), or by turns ("mixed").
inline void CountUp(const Counters& counters, const std::string& key, int times,
                    const std::string& how) {
  for (int i = 0; i < times; ++i) {
    if (how == "lock" || (how == "mixed" && i % 2 == 0)) {
      counters.With(key, Increment, {.wait = std::chrono::minutes(10)});
    } else {
      counters.Update(key, Increment);
    }
  }
}

}  // namespace doclock::sqlite_test
