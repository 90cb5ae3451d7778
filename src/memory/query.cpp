#include "memory/operations.h"

#include <algorithm>
#include <limits>
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

std::vector<QueryRow> RowsOf(Shard& shard, const Filter& filter, TimePoint now) {
  std::vector<QueryRow> rows;
  const std::lock_guard guard(shard.mutex);
  for (const auto& [key, document] : shard.documents) {
    if (StateMatches(filter, document->lock.IsLive(now))) rows.push_back(RowOf(*document, now));
  }
  return rows;
}

std::vector<QueryRow> Scan(MemoryCollection& collection, const Filter& filter, TimePoint now) {
  std::vector<QueryRow> found;
  for (Shard& shard : collection.shards()) {
    for (QueryRow& row : RowsOf(shard, filter, now)) {
      if (Matches(filter, row.body)) found.push_back(std::move(row));
    }
  }
  std::sort(found.begin(), found.end(),
            [&](const QueryRow& a, const QueryRow& b) { return StandsBefore(filter, a, b); });
  return found;
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
  if (!StateMatches(filter, row->locked) || !Matches(filter, row->body)) return std::nullopt;
  return row;
}

void QueryByIndex(MemoryCollection& collection, const IndexPlan& plan, const Filter& filter,
                  const std::function<bool(QueryRow&&)>& sink, TimePoint now) {
  std::int64_t left =
      filter.limit() == 0 ? std::numeric_limits<std::int64_t>::max() : filter.limit();
  // In one visit: in several visits, a document that moves could be seen twice.
  constexpr auto kAll = std::numeric_limits<std::size_t>::max();
  for (const EntryPtr& entry : collection.indexes().Next(plan, nullptr, kAll)) {
    std::optional<QueryRow> row = Fetch(collection, *entry, filter, now);
    if (row && (!sink(std::move(*row)) || --left == 0)) return;
  }
}

/// Grants the document if it is free and still matches. `key` is set before.
bool TryGrant(AcquireOp& op, const Filter& filter, const Key& candidate, std::size_t hash, Key& key,
              TimePoint now) {
  const LockedSlot slot(CollectionOf(op), candidate, hash);
  Document* document = slot.document();
  if (document == nullptr || !rules::MayTakeNext(document->lock, now)) return false;
  if (!Matches(filter, document->body)) return false;
  key = candidate;
  op.key = &key;
  op.hash = hash;
  rules::Acquire(op, document->lock, now);
  op.body = document->body;
  return true;
}

void NextByIndex(AcquireOp& op, const IndexPlan& plan, const Filter& filter, Key& key,
                 TimePoint now) {
  const Indexes& indexes = CollectionOf(op).indexes();
  EntryPtr position;
  for (;;) {
    const std::vector<EntryPtr> entries = indexes.Next(plan, position, kEntriesPerVisit);
    for (const EntryPtr& entry : entries) {
      if (TryGrant(op, filter, entry->key, entry->hash, key, now)) return;
    }
    if (entries.size() < kEntriesPerVisit) return;
    position = entries.back();
  }
}

void NextByScan(AcquireOp& op, const Filter& filter, Key& key, TimePoint now) {
  Filter free = filter;
  free.Free();
  for (const QueryRow& row : Scan(CollectionOf(op), free, now)) {
    if (TryGrant(op, filter, row.key, row.key.Hash(), key, now)) return;
  }
}

}  // namespace

void Query(MemoryCollection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, TimePoint now) {
  if (const auto plan = collection.indexes().PlanFor(filter)) {
    return QueryByIndex(collection, *plan, filter, sink, now);
  }
  std::int64_t shown = 0;
  for (QueryRow& row : Scan(collection, filter, now)) {
    if (!sink(std::move(row)) || ++shown == filter.limit()) return;
  }
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
