#include "sqlite/locks/queue.h"

#include "doclock/store.h"
#include "sqlite/db/columns.h"

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
  const Running put(connection_.Prepared(tables_, Sql::kPutEntry));
  put->Bind(1, doc);
  put->Bind(2, stored.place);
  put->Bind(3, entry.id);
  put->Bind(4, std::int64_t{stored.since.count()});
  put->Bind(5, std::int64_t{entry.until.time_since_epoch().count()});
  put->Bind(6, stored.boot);
  put->Bind(7, entry.instance);
  put->Bind(8, std::int64_t{entry.detached});
  put->Bind(9, std::int64_t{entry.ttl.count()});
  put->Bind(10, std::int64_t{entry.min_hold.count()});
  put->Bind(11, stored.owner);
  put->Bind(12, entry.group);
  put->Bind(13, std::int64_t{entry.mode == LockMode::kShared ? entry.max_holders : 0});
  put->Step();
}

void Queue::Delete(std::int64_t doc, std::int64_t place) {
  const Running erase(connection_.Prepared(tables_, Sql::kDeleteEntry));
  erase->Bind(1, doc);
  erase->Bind(2, place);
  erase->Step();
}

void Queue::Run(Sql which, std::int64_t doc) {
  const Running statement(connection_.Prepared(tables_, which));
  statement->Bind(1, doc);
  statement->Step();
}

}  // namespace doclock::sqlite
