#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/key.h"
#include "mongodb/bson/bson.h"
#include "rules/lock_state.h"

/// What MongoDB's server does, beside what src/rules/ decides. The documents are written and read
/// here without the store's own code, after docs/reference/layout.md.
namespace doclock::mongo_rules_test {

/// The present, for the rules. Every moment and length is a whole number of hours, so that it does
/// not matter how long a test takes.
inline constexpr TimePoint kNow{std::chrono::hours(1000)};
/// The collection's: a lease of this length may stand in a document without one.
inline constexpr std::chrono::hours kDefaultTtl{6};

/// A document.
struct Record {
  rules::LockState lock;
  nlohmann::json body = nlohmann::json::object();  ///< Small numbers only.
};

/// Ways to say the same in a document.
struct Dialect {
  bool nulls = false;   ///< What there is not is null, where that is allowed, not missing.
  bool narrow = false;  ///< Numbers are int32 where they fit.
  bool no_ttl = false;  ///< The default ttl is not written.
  /// What counts for nothing is there: shares beside a lock that is not shared, and what is no
  /// entry in the queue.
  bool remains = false;
};

/// The ids of one case have numbers below 100.
Uuid IdOf(int number, std::uint64_t case_number);

/// @param now the server's time, in ms
mongodb::Doc DocumentOf(const Key& key, const Record& record, const Dialect& dialect,
                        std::int64_t now);
/// The reverse. @throws std::runtime_error for what this library does not write
Record RecordOf(const bson_t& document, std::int64_t now);

// For comparisons. Ids that no test has chosen are all alike, and so is all that has lapsed.
std::string TextOf(const Uuid& id);
std::string TextOf(std::chrono::nanoseconds time);
std::string TextOf(const std::optional<Record>& record);

}  // namespace doclock::mongo_rules_test
