#pragma once

#include <chrono>
#include <cstddef>

namespace doclock {

/// The properties of a store. Constant over its life, except clock_margin.
struct StoreTraits {
  /// How many concurrent Execute calls are worthwhile.
  int lanes = 1;
  /// The most operations per Execute. Renewals come in batches of up to 1,000 in any case.
  std::size_t max_batch = 128;
  /// Execute never blocks and takes calls from any number of threads: no batching needed.
  bool immediate = false;
  /// A lone blocking caller may run Execute on its own thread.
  bool inline_callers = true;
  /// Reads neither wait for writes nor fail with them: each is an Execute call of its own, beside
  /// those of the lanes. False: reads are batched with writes.
  bool reads_apart = false;
  /// Other processes may use the same documents.
  bool shared = true;
  /// How much the clocks involved may differ during one lease; a holder gives up this much early.
  std::chrono::nanoseconds clock_margin = std::chrono::milliseconds(1);
};

}  // namespace doclock
