#include "sqlite/locks/queue.h"

#include "doclock/store.h"
#include "sqlite/locks/columns.h"

namespace doclock::sqlite {

StoredEntry Queue::Read(const Statement& row) {
  Columns columns(row);
  StoredEntry stored;
  rules::QueueEntry& entry = stored.entry;
  stored.place = columns.Integer(0, 0, INT64_MAX / 2);
  entry.id = columns.Id(1);
  stored.since = columns.Time(2);
  entry.until = TimePoint(columns.Time(3));
  stored.boot = columns.Any(4);
  entry.instance = columns.Integer(5, 0, INT64_MAX);
  entry.detached = columns.Any(6) != 0;
  entry.ttl = columns.Ttl(7);
  entry.min_hold = columns.Ttl(8);
  stored.owner = columns.Any(9);
  entry.group = row.Text(10);
  const auto limit = static_cast<int>(columns.Integer(11, 0, kMaxHolders));
  if (limit > 0) {
    entry.mode = LockMode::kShared;
    entry.max_holders = limit;
  }
  stored.malformed = !columns.good() || entry.id.is_nil() || entry.id == kSharedLockId;
  return stored;
}

void Queue::Put(std::int64_t doc, const StoredEntry& stored) {
  const rules::QueueEntry& entry = stored.entry;
  connection_.Run(tables_, Sql::kPutEntry, doc, stored.place, entry.id, stored.since,
                  entry.until.time_since_epoch(), stored.boot, entry.instance,
                  std::int64_t{entry.detached}, entry.ttl, entry.min_hold, stored.owner,
                  entry.group,
                  std::int64_t{entry.mode == LockMode::kShared ? entry.max_holders : 0});
}

}  // namespace doclock::sqlite
