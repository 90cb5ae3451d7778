#include "sqlite/db/unix_time.h"
#include "sqlite/operations/operations.h"

// The queue of a document's waiters: what the rules did to it, written to its table.

namespace doclock::sqlite {
namespace {

bool IsSame(const rules::QueueEntry& a, const rules::QueueEntry& b) {
  return a.id == b.id && a.until == b.until && a.ttl == b.ttl && a.min_hold == b.min_hold &&
         a.owner == b.owner && a.group == b.group && a.detached == b.detached && a.mode == b.mode &&
         a.max_holders == b.max_holders && a.instance == b.instance;
}

}  // namespace

void Reader::LoadQueue(const SqliteCollection& collection, LoadedLock& lock) {
  lock.queue_known = true;
  if (!lock.row.queued) return;
  QueueOf(collection).ForEach(lock.row.doc, [&](StoredEntry&& stored) {
    const bool holds = stored.entry.id == lock.row.id && lock.state.IsLive(now_) &&
                       stored.entry.mode == LockMode::kExclusive;
    const bool counts = !stored.malformed && !holds && !around_.evaluator.IsGone(stored, now_);
    if (counts) {
      stored.entry.owner = around_.owners.Find(connection_, stored.owner);
      lock.state.queue.push_back(stored.entry);
    }
    lock.entries.push_back(std::move(stored));
  });
}

bool Operations::HasEntry(const SqliteCollection& collection, const StoredLock& row,
                          const Uuid& id) {
  bool found = false;
  if (!row.queued) return false;
  QueueOf(collection).ForEach(row.doc, [&](const StoredEntry& stored) {
    found = found || stored.entry.id == id;
  });
  return found;
}

/// The rules remove entries, change them in place, and add them at the end.
void Operations::PutQueue(const SqliteCollection& collection, const LoadedLock& lock) {
  if (!lock.queue_known) return;
  std::int64_t last = 0;
  auto entry = lock.state.queue.begin();
  const auto end = lock.state.queue.end();
  for (const StoredEntry& before : lock.entries) {
    if (!before.malformed) last = before.place;
    if (entry == end || entry->id != before.entry.id) {
      QueueOf(collection).Delete(lock.row.doc, before.place);
      continue;
    }
    if (!IsSame(*entry, before.entry)) PutEntry(collection, lock, before.place, *entry);
    ++entry;
  }
  for (; entry != end; ++entry) PutEntry(collection, lock, ++last, *entry);
}

void Operations::PutAfterRefusal(const AcquireOp& op, const LoadedLock& lock,
                                 const rules::Intent& before) {
  const SqliteCollection& collection = CollectionOf(op);
  if (lock.state.passed_on.done) {
    Put(collection, FreedRow(lock, now_));
    PutFreed(collection, lock);
    return AddNotification(collection, op.hash, lock.state);
  }
  if (lock.state.intent != before) PutIntent(op, lock.row.doc);
  if (!lock.row.queued && !lock.state.queue.empty()) {
    QueueOf(collection).DeleteAll(lock.row.doc);  // of a row that another program deleted
    QueueOf(collection).Mark(lock.row.doc);
  }
  PutQueue(collection, lock);
}

StoredLock Operations::FreedRow(const LoadedLock& lock, TimePoint since) {
  const rules::PassedOn& passed_on = lock.state.passed_on;
  if (!passed_on.done) return RowOf(lock, since);
  StoredLock row = RowOf(lock, now_);
  row.slot = passed_on.detached ? 0 : passed_on.instance;
  row.owner = around_.owners.NumberOf(connection_, lock.state.owner, row.wall);
  return row;
}

void Operations::PutFreed(const SqliteCollection& collection, const LoadedLock& lock) {
  DropLease(collection, lock.row);
  DropShared(collection, lock.row);
  PutQueue(collection, lock);
  if (!lock.state.passed_on.done) return;
  DropIntent(collection, lock.row);
  PutGroup(collection, lock);
}

void Operations::PutEntry(const SqliteCollection& collection, const LoadedLock& lock,
                          std::int64_t place, const rules::QueueEntry& entry) {
  StoredEntry stored;
  stored.place = place;
  stored.since = now_.time_since_epoch();
  stored.boot = around_.evaluator.boot();
  stored.owner = around_.owners.NumberOf(connection_, entry.owner, UnixTime());
  stored.entry = entry;
  QueueOf(collection).Put(lock.row.doc, stored);
}

}  // namespace doclock::sqlite
