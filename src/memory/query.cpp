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

std::optional<QueryRow> MemoryUnit::Fetch(MemoryCollection& collection, const Key& key,
                                          std::size_t hash, const Filter& filter) {
  std::optional<QueryRow> row;
  {
    Shard& shard = collection.ShardOf(hash);
    const std::lock_guard guard(shard.mutex);
    const Document* const document = shard.Find(key, hash);
    if (document == nullptr) return std::nullopt;
    row = RowOf(*document);
  }
  const bool matches = StateMatches(filter, row->locked) && Matches(filter, row->key, row->body);
  return matches ? std::move(row) : std::nullopt;
}

void MemoryUnit::ScanIndex(MemoryCollection& collection, const IndexPlan& plan,
                           const Filter& filter, const std::function<bool(QueryRow&&)>& visit) {
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

void MemoryUnit::ScanShards(MemoryCollection& collection, const Filter& filter,
                            const std::function<bool(QueryRow&&)>& visit) {
  // The rows of a shard, which are looked at when its mutex is free.
  const auto rows_of = [&](Shard& shard) {
    std::vector<QueryRow> rows;
    const std::lock_guard guard(shard.mutex);
    rows.reserve(shard.documents.size());
    for (const auto& [key, document] : shard.documents) rows.push_back(RowOf(*document));
    return rows;
  };
  const auto scan = [&](FirstRows& rows) {
    if (const auto key = EqualKey(filter)) {
      if (auto row = Fetch(collection, *key, key->Hash(), filter)) rows.Show(*std::move(row));
      return;
    }
    for (Shard& shard : collection.shards()) {
      for (QueryRow& row : rows_of(shard)) rows.Show(std::move(row));
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
