#include <algorithm>

#include "rules/tidying.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

bool Operations::Intervene(const SqliteCollection& collection, const Key& key,
                           const StoredLock& row, Intervention what) {
  LoadedLock lock = Load(collection, row);
  LoadQueue(collection, lock);
  if (!rules::Intervene(lock.state, what, NewUuid(), now_)) return false;
  renewal_rows_.Remove(row.id);
  if (what == Intervention::kSteal) {
    PutGrant(collection, lock, lock.state.owner, /*detached=*/true);
    return true;
  }
  AddNotification(collection, key.Hash(), lock.state);
  if (what == Intervention::kBreak) {
    Put(collection, FreedRow(lock, now_));
    PutFreed(collection, lock);
    return true;
  }
  Put(collection, EndedRow(lock));
  DropLease(collection, row);
  if (lock.state.IsShared()) SharesOf(collection).Expire(row.doc);
  return true;
}

/// The lease is over. The time of the grant stays if it can be told.
StoredLock Operations::EndedRow(const LoadedLock& lock) const {
  const TimePoint end = lock.state.lease.End();
  StoredLock row = lock.row;
  if (!around_.evaluator.IsComparable(row, now_)) row = RowOf(lock, end);
  const auto lasted = std::chrono::floor<std::chrono::milliseconds>(end - TimePoint(row.time));
  row.ttl = std::clamp(lasted, std::chrono::milliseconds(0), kLongestTtl);
  return row;
}

void Operations::Purge(const SqliteCollection& collection, LoadedLock& lock) {
  rules::Purge(lock.state);
  Put(collection, RowOf(lock, lock.state.lease.End()));
  DropLease(collection, lock.row);
  DropShared(collection, lock.row);
  PutQueue(collection, lock);
  Drop(collection, Sql::kDeleteGroup, lock.row.doc);
}

}  // namespace doclock::sqlite
