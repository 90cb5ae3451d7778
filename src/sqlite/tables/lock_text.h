#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/lock_state.h"

namespace doclock::sqlite {

/// Half the range: times and leases can be added without overflow.
inline constexpr std::int64_t kLatest = INT64_MAX / 2;

// Parts of a lock as the text of one column: numbers and ids with a space behind each, a text with
// its length before it ("5:hello "), and each share and waiter on a line of its own.

std::string OwnerText(const OwnerPtr& owner);
std::string SharesText(const std::vector<rules::Share>& shares);
std::string QueueText(const std::vector<rules::QueueEntry>& queue);

// Each returns whether the text is what the function above writes.

bool ReadOwner(std::string_view text, OwnerPtr& owner);
bool ReadShares(std::string_view text, std::vector<rules::Share>& shares);
bool ReadQueue(std::string_view text, std::vector<rules::QueueEntry>& queue);

}  // namespace doclock::sqlite
