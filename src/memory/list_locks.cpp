#include "memory/list_locks.h"

#include "document/json/row_filter.h"
#include "memory/place.h"
#include "rules/looking.h"

namespace doclock::memory {

LockPage ListLocks(MemoryCollection& collection, const LockQuery& query, const std::string& after,
                   TimePoint now) {
  LockPage page;
  const auto show = [&](const Document& document) {
    LockRow row;
    row.key = document.key;
    row.has_body = !TreeOf(document.body).empty();
    rules::AddRows(page.rows, row, document.lock, query, now);
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
