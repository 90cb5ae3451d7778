#include <utility>
#include <vector>

#include "document/json/row_filter.h"
#include "memory/memory_unit.h"

namespace doclock::memory {
namespace {

/// Index entries per visit to the index: most of the time the first few are enough, after those
/// that other workers hold.
constexpr std::size_t kEntriesPerVisit = 32;

}  // namespace

QueryRow MemoryUnit::RowOf(const Document& document) {
  return {document.key, document.body, document.lock.version, document.lock.born,
          document.lock.IsLive(Now())};
}

std::unique_lock<std::mutex> MemoryUnit::LockForScan(Shard& shard) const {
  return locked_ != nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(shard.mutex);
}

void MemoryUnit::LockAllOf(MemoryCollection& collection) {
  Now();  // others do not wait while this reads the clock
  for (Shard& shard : collection.shards()) Lock(shard);
}

void MemoryUnit::AddRows(const Shard& shard, std::vector<QueryRow>& rows) {
  for (const auto& [key, document] : shard.documents) rows.push_back(RowOf(*document));
}

std::vector<QueryRow> MemoryUnit::AllRows(MemoryCollection& collection) {
  LockAllOf(collection);
  std::size_t count = 0;
  for (const Shard& shard : collection.shards()) count += shard.documents.size();
  std::vector<QueryRow> rows;
  rows.reserve(count);
  for (const Shard& shard : collection.shards()) AddRows(shard, rows);
  Unlock();
  return rows;
}

std::optional<QueryRow> MemoryUnit::Fetch(MemoryCollection& collection, const Key& key,
                                          std::size_t hash, const Filter& filter) {
  std::optional<QueryRow> row;
  {
    Shard& shard = collection.ShardOf(hash);
    const auto guard = LockForScan(shard);
    const Document* const document = shard.Find(key, hash);
    if (document == nullptr) return std::nullopt;
    row = RowOf(*document);
  }
  const bool matches = StateMatches(filter, row->locked) && Matches(filter, row->key, row->body);
  return matches ? std::move(row) : std::nullopt;
}

void MemoryUnit::ScanIndex(MemoryCollection& collection, const IndexPlan& plan,
                           const Filter& filter, const std::function<bool(QueryRow&&)>& visit) {
  if (reads_) LockAllOf(collection);
  std::int64_t shown = 0;
  EntryPtr position = plan.after;
  for (;;) {
    const auto entries = collection.indexes().Next(plan, position, kEntriesPerVisit);
    for (const EntryPtr& entry : entries) {
      std::optional<QueryRow> row = Fetch(collection, entry->key, entry->hash, filter);
      if (row && !(visit(std::move(*row)) && ++shown != filter.limit())) return;
    }
    if (entries.size() < kEntriesPerVisit) return;
    position = entries.back();
  }
}

/// Looks at them when the shard's mutex is free.
void MemoryUnit::ShowRows(Shard& shard, FirstRows& rows) {
  std::vector<QueryRow> found;
  {
    const std::lock_guard guard(shard.mutex);
    found.reserve(shard.documents.size());
    AddRows(shard, found);
  }
  for (QueryRow& row : found) rows.Show(std::move(row));
}

void MemoryUnit::ScanShards(MemoryCollection& collection, const Filter& filter,
                            const std::function<bool(QueryRow&&)>& visit) {
  const auto key = EqualKey(filter);
  const std::vector<QueryRow> all = reads_ && !key ? AllRows(collection) : std::vector<QueryRow>();
  const auto scan = [&](FirstRows& rows) {
    if (key) {
      if (auto row = Fetch(collection, *key, key->Hash(), filter)) rows.Show(*std::move(row));
    } else if (reads_) {
      for (const QueryRow& row : all) rows.Show(row);
    } else {
      for (Shard& shard : collection.shards()) ShowRows(shard, rows);
    }
  };
  VisitInOrder(filter, kPageRows, scan, visit);
}

void MemoryUnit::Scan(Collection& collection, const Filter& filter,
                      const std::function<bool(QueryRow&&)>& visit) {
  auto& ours = static_cast<MemoryCollection&>(collection);
  Unlock();
  if (const auto plan = ours.indexes().PlanFor(filter)) {
    ScanIndex(ours, *plan, filter, visit);
  } else {
    ScanShards(ours, filter, visit);
  }
}

}  // namespace doclock::memory
