#pragma once

#include <chrono>
#include <cstddef>

namespace doclock {

/// What a store is like. Constant over its life, but for clock_margin.
struct StoreTraits {
  /// How many Execute calls may run at once to any purpose.
  int lanes = 1;
  /// Most operations per Execute; renewals travel in batches of up to 1,000 whatever it says.
  std::size_t max_batch = 128;
  /// Execute never blocks and takes calls from any number of threads: no batching needed.
  bool immediate = false;
  /// A lone blocking caller may run Execute on its own thread.
  bool inline_callers = true;
  /// Other processes may use the same documents.
  bool shared = true;
  /// What the clocks involved may differ by during one lease; a holder gives up this much early.
  std::chrono::nanoseconds clock_margin = std::chrono::milliseconds(1);
};

}  // namespace doclock
