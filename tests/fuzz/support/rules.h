#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "fuzz/support/fuzz.h"
#include "rules/acquire.h"
#include "rules/holder.h"
#include "rules/looking.h"
#include "rules/tidying.h"

namespace doclock::fuzz {

class Things : public Collection {
 public:
  Things() : Collection("things", {}, std::chrono::seconds(30)) {}
};

inline Things& Collected() {
  static Things things;
  return things;
}

inline void CheckRows(const rules::LockState& lock, TimePoint now, std::int64_t longest_ms) {
  LockQuery query;
  query.unheld = true;
  std::vector<LockRow> rows;
  rules::AddRows(rows, {}, lock, query, now);
  for (const LockRow& row : rows) {
    Require(row.left.count() >= 0 && row.age.count() >= 0 && row.ttl.count() >= 0,
            "no time that is shown is negative");
    // Others make nanoseconds of it.
    Require(row.age.count() <= longest_ms, "no time that is shown is out of range");
  }
}

/// What the rules make of a lock that is sound.
inline void TryRules(Collection& collection, const rules::LockState& lock, TimePoint now,
                     std::int64_t longest_ms) {
  const Key key("1");
  constexpr Uuid kNew = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
  const bool live = lock.IsLive(now);
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    rules::LockState state = lock;
    AcquireOp op(collection, key);
    op.request.grant.lock_id = kNew;
    op.request.grant.ttl = kMaxTtl.ms();
    op.request.grant.mode = mode;
    rules::Acquire(op, state, now);
    const bool granted = op.status == OpStatus::kDone;
    Require(!granted || !live || (mode == LockMode::kShared && lock.IsShared()),
            "a live lock is not granted");
    Require(!granted || op.result.version > lock.version, "a grant raises the version");
    if (op.detail && op.detail->remaining) {
      Require(op.detail->remaining->count() >= 0, "a remaining time is not negative");
    }
  }
  ReadOp read(collection, key);
  rules::Read(read, lock, now);
  Require(read.result.locked == live, "a read tells of a live lock");
  Require(read.result.remaining.count() >= 0, "a remaining time is not negative");
  RenewOp renew(collection, key);
  renew.request.lock_id = lock.lock_id;
  renew.request.ttl = kMaxTtl.ms();
  rules::LockState renewed = lock;
  rules::Renew(renew, renewed, now);
  Require(renew.status != OpStatus::kDone || live, "a renewal does not revive");
  CheckRows(lock, now, longest_ms);
}

}  // namespace doclock::fuzz
