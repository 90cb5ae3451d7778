#include "rules/tidying.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

void Operations::Purge(const SqliteCollection& collection, LoadedLock& lock) {
  rules::Purge(lock.state);
  Put(collection, RowOf(lock, lock.state.lease.End()));
  DropLease(collection, lock.row);
  DropShared(collection, lock.row);
  PutQueue(collection, lock);
  Drop(collection, Sql::kDeleteGroup, lock.row.doc);
}

}  // namespace doclock::sqlite
