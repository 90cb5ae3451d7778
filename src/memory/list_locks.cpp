#include "memory/list_locks.h"

#include <utility>

#include "memory/place.h"

namespace doclock::memory {
namespace {

/// What a row tells of the document, whoever holds it.
LockRow DocumentRow(const Document& document, TimePoint now) {
  LockRow row;
  row.key = document.key;
  row.version = document.version;
  row.born = document.born;
  row.closed = IsClosed(document, now);
  row.has_body = !TreeOf(document.body).empty();
  row.ttl = document.ttl;
  return row;
}

void SetAge(LockRow& row, TimePoint since, TimePoint now) {
  if (since < now) row.age = std::chrono::floor<std::chrono::milliseconds>(now - since);
}

LockRow UnheldRow(const Document& document, TimePoint now) {
  LockRow row = DocumentRow(document, now);
  if (document.granted != TimePoint{}) SetAge(row, LeaseEnd(document), now);
  return row;
}

LockRow ExclusiveRow(const Document& document, TimePoint now) {
  LockRow row = DocumentRow(document, now);
  SetAge(row, document.granted, now);
  row.lock_id = document.lock_id;
  row.fence = document.fence;
  row.live = HasLiveLock(document, now);
  if (row.live) row.left = LeaseLeft(document, now);
  row.holder = HolderOf(document);
  row.group = document.group;
  return row;
}

LockRow ShareRow(const Document& document, const Share& share, TimePoint now) {
  LockRow row = DocumentRow(document, now);
  SetAge(row, share.granted, now);
  row.mode = LockMode::kShared;
  row.lock_id = share.id;
  row.fence = share.fence;
  row.ttl = share.ttl;
  row.live = now - share.since < share.ttl;
  if (row.live) row.left = Left(share.ttl - (now - share.since));
  if (share.owner) row.holder = *share.owner;
  row.group = share.group;
  return row;
}

bool IsAskedFor(const std::string& group, const LockQuery& query) {
  return query.group.empty() || group == query.group;
}

void AddRows(std::vector<LockRow>& rows, const Document& document, const LockQuery& query,
             TimePoint now) {
  if (!HasLockId(document)) {
    if (query.unheld && query.group.empty()) rows.push_back(UnheldRow(document, now));
  } else if (!IsShared(document)) {
    if (IsAskedFor(document.group, query)) rows.push_back(ExclusiveRow(document, now));
  } else {
    for (const Share& share : document.sharing->shares) {
      if (IsAskedFor(share.group, query)) rows.push_back(ShareRow(document, share, now));
    }
  }
}

}  // namespace

LockPage ListLocks(MemoryCollection& collection, const LockQuery& query, const std::string& after,
                   TimePoint now) {
  LockPage page;
  const auto show = [&](const Document& document) { AddRows(page.rows, document, query, now); };
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
