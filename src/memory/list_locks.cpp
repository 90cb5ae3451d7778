#include "memory/list_locks.h"

#include <utility>

#include "memory/place.h"

namespace doclock::memory {
namespace {

bool IsAskedFor(const Document& document, const LockQuery& query) {
  if (!HasLockId(document)) return query.unheld && query.group.empty();
  return query.group.empty() || document.group == query.group;
}

LockRow LockRowOf(const Document& document, TimePoint now) {
  LockRow row;
  row.key = document.key;
  row.version = document.version;
  row.born = document.born;
  row.closed = IsClosed(document, now);
  row.has_body = !TreeOf(document.body).empty();
  row.ttl = document.ttl;
  const TimePoint since =
      HasLockId(document) ? document.granted : document.lock_time + document.ttl;
  if (since < now) row.age = std::chrono::floor<std::chrono::milliseconds>(now - since);
  if (!HasLockId(document)) return row;
  row.lock_id = document.lock_id;
  row.live = HasLiveLock(document, now);
  if (row.live) row.left = LeaseLeft(document, now);
  row.holder = HolderOf(document);
  row.group = document.group;
  return row;
}

}  // namespace

LockPage ListLocks(MemoryCollection& collection, const LockQuery& query, const std::string& after,
                   TimePoint now) {
  LockPage page;
  const auto show = [&](const Document& document) {
    if (IsAskedFor(document, query)) page.rows.push_back(LockRowOf(document, now));
  };
  if (query.key) {
    const Place place(collection, *query.key, query.key->Hash());
    if (place.document() != nullptr) show(*place.document());
    return page;
  }
  const std::size_t number = after.empty() ? 0 : std::stoul(after);
  Shard& shard = collection.shards().at(number);
  {
    const std::lock_guard guard(shard.mutex);
    shard.documents.ForEach(show);
  }
  if (number + 1 < MemoryCollection::kShards) page.next = std::to_string(number + 1);
  return page;
}

}  // namespace doclock::memory
