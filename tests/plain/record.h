#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "rules/lock_state.h"

/// What a store decides in statements of its own, beside what src/rules/ decides.
namespace doclock::plain_test {

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

/// The ids of one case have numbers below 200.
Uuid IdOf(int number, std::uint64_t case_number);

// For comparisons. Ids that no test has chosen are all alike, and so is all that has lapsed.
std::string TextOf(const Uuid& id);
std::string TextOf(std::chrono::nanoseconds time);
std::string TextOf(const std::optional<Record>& record);

}  // namespace doclock::plain_test
