#pragma once

#include <functional>
#include <string>

namespace doclock::host_test {

/// Uses a store as a small program does: numbers, a unique index, filters, a search, a queue
/// between two stores, a renewal. The store stays as it was found.
/// @param url may be opened twice; both see the same documents, except for memory:.
/// @param opened is called as soon as the stores are open, `used` when they have been used.
/// @returns what it saw, which is the same each time.
std::string Session(const std::string& url, const std::function<void()>& opened,
                    const std::function<void()>& used);

}  // namespace doclock::host_test
