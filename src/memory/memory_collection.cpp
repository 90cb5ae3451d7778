#include "memory/memory_collection.h"

#include <mutex>

namespace doclock::memory {
void MemoryCollection::EnsureIndex(const IndexSpec& index) {
  const IndexSpec spec = WithoutKey(index);
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(kShards);
  for (Shard& shard : shards_) locks.emplace_back(shard.mutex);
  std::vector<Document*> documents;
  for (Shard& shard : shards_) {
    for (const auto& [key, document] : shard.documents) documents.push_back(document.get());
  }
  indexes_.Build(spec, documents);
  indexed_ = true;
}

}  // namespace doclock::memory
