#pragma once

#include <gtest/gtest.h>

#include <new>
#include <span>

#include "allocation/failing_new.h"
#include "conformance/suite/client.h"

namespace doclock::allocation_test {

/// Executes operations while the n-th allocation, and all that follow it, fail. False: fewer are
/// needed.
inline bool ExecuteFailing(conformance::Client& client, std::span<StoreOp* const> ops,
                           std::int64_t n) {
  FailingNew::FailAt(n, 1'000'000);
  try {
    const CodeUnderTest code;
    client.store().Execute(ops, client.budget());
  } catch (const std::bad_alloc&) {
    // What is still kPending is in doubt.
  }
  FailingNew::Disarm();
  return FailingNew::failed();
}

/// Does the outcome say whether the change is there?
inline void ExpectTold(const StoreOp& op, bool there) {
  if (op.status == OpStatus::kPending || op.status == OpStatus::kInDoubt) return;
  EXPECT_EQ(op.status == OpStatus::kDone, there) << conformance::Why(op);
}

}  // namespace doclock::allocation_test
