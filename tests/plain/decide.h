#pragma once

#include <optional>
#include <string>

#include "plain/record.h"

namespace doclock::plain_test {

/// What src/rules/ decides: does the operation to the document as any store over the rules would,
/// and fills in the result.
void Decide(StoreOp& op, std::optional<Record>& record);

/// What the caller asked, for messages.
std::string RequestOf(const StoreOp& op);
/// What the caller is told, for comparisons.
std::string ResultOf(const StoreOp& op);

}  // namespace doclock::plain_test
