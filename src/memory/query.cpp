#include "memory/operations.h"

#include <utility>

#include "document/json/row_filter.h"
#include "memory/locked_slot.h"
#include "rules/acquire.h"
#include "rules/fault.h"
#include "rules/queue.h"

namespace doclock::memory {
namespace {

/// Index entries per visit to the index: most of the time the first few are enough, after those
/// that other workers hold.
constexpr std::size_t kEntriesPerVisit = 32;

QueryRow RowOf(const Document& document, TimePoint now) {
  return {document.key, document.body, document.lock.version, document.lock.born,
          document.lock.IsLive(now)};
}

/// A shard's documents, which the caller looks at when the mutex is free.
std::vector<QueryRow> RowsOf(Shard& shard, TimePoint now) {
  std::vector<QueryRow> rows;
  const std::lock_guard guard(shard.mutex);
  rows.reserve(shard.documents.size());
  for (const auto& [key, document] : shard.documents) rows.push_back(RowOf(*document, now));
  return rows;
}

void ScanInto(MemoryCollection& collection, const Filter& filter, FirstRows& rows, TimePoint now) {
  if (const auto key = EqualKey(filter)) {
    const LockedSlot slot(collection, *key, key->Hash());
    if (slot.document() != nullptr) rows.Show(RowOf(*slot.document(), now));
    return;
  }
  for (Shard& shard : collection.shards()) {
    for (QueryRow& row : RowsOf(shard, now)) rows.Show(std::move(row));
  }
}

void Scan(MemoryCollection& collection, const Filter& filter, TimePoint now,
          const std::function<bool(QueryRow&&)>& sink) {
  VisitInOrder(
      filter, kPageRows, [&](FirstRows& rows) { ScanInto(collection, filter, rows, now); }, sink);
}

/// The row of an index entry, if its document still matches.
std::optional<QueryRow> Fetch(MemoryCollection& collection, const IndexEntry& entry,
                              const Filter& filter, TimePoint now) {
  std::optional<QueryRow> row;
  {
    const LockedSlot slot(collection, entry.key, entry.hash);
    if (slot.document() == nullptr) return std::nullopt;
    row = RowOf(*slot.document(), now);
  }
  if (!StateMatches(filter, row->locked) || !Matches(filter, row->key, row->body)) {
    return std::nullopt;
  }
  return row;
}

/// Shows the entries of a plan to `visit` until it returns false.
template <class Visit>
void VisitEntries(const Indexes& indexes, const IndexPlan& plan, const Visit& visit) {
  EntryPtr position = plan.after;
  for (;;) {
    const std::vector<EntryPtr> entries = indexes.Next(plan, position, kEntriesPerVisit);
    for (const EntryPtr& entry : entries) {
      if (!visit(*entry)) return;
    }
    if (entries.size() < kEntriesPerVisit) return;
    position = entries.back();
  }
}

void QueryByIndex(MemoryCollection& collection, const IndexPlan& plan, const Filter& filter,
                  const std::function<bool(QueryRow&&)>& sink, TimePoint now) {
  std::int64_t shown = 0;
  VisitEntries(collection.indexes(), plan, [&](const IndexEntry& entry) {
    std::optional<QueryRow> row = Fetch(collection, entry, filter, now);
    return !row || (sink(std::move(*row)) && ++shown != filter.limit());
  });
}

/// Grants the document if it is free and still matches. `key` is set before.
bool TryGrant(AcquireOp& op, const Filter& filter, const Key& candidate, std::size_t hash, Key& key,
              TimePoint now) {
  const LockedSlot slot(CollectionOf(op), candidate, hash);
  Document* document = slot.document();
  if (document == nullptr || !rules::MayTakeNext(document->lock, now)) return false;
  if (!Matches(filter, candidate, document->body)) return false;
  key = candidate;
  op.key = &key;
  op.hash = hash;
  rules::Acquire(op, document->lock, now);
  op.body = document->body;
  return true;
}

void NextByIndex(AcquireOp& op, const IndexPlan& plan, const Filter& filter, Key& key,
                 TimePoint now) {
  VisitEntries(CollectionOf(op).indexes(), plan, [&](const IndexEntry& entry) {
    return !TryGrant(op, filter, entry.key, entry.hash, key, now);
  });
}

void NextByScan(AcquireOp& op, const Filter& filter, Key& key, TimePoint now) {
  Scan(CollectionOf(op), Filter(filter).Free(), now,
       [&](QueryRow&& row) { return !TryGrant(op, filter, row.key, row.key.Hash(), key, now); });
}

}  // namespace

void Query(MemoryCollection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, TimePoint now) {
  if (const auto plan = collection.indexes().PlanFor(filter)) {
    return QueryByIndex(collection, *plan, filter, sink, now);
  }
  Scan(collection, filter, now, sink);
}

void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, TimePoint now) {
  if (const char* const fault = FaultOfNext(op.grant)) return op.Fail(Errc::kRefused, fault);
  op.status = OpStatus::kMissing;
  if (filter.lock_state() == Filter::LockState::kLocked) return;
  if (const auto plan = CollectionOf(op).indexes().PlanFor(filter)) {
    NextByIndex(op, *plan, filter, key, now);
  } else {
    NextByScan(op, filter, key, now);
  }
}

}  // namespace doclock::memory
