#include "memory/memory_collection.h"

#include <vector>

#include "document/json/row_filter.h"

namespace doclock::memory {

Document& MemoryCollection::Add(const Key& key, std::size_t hash, locking::Entry&& entry) {
  auto made = std::make_unique<Document>(key, hash, std::move(entry));
  Document& document = *made;
  ShardOf(hash).documents.emplace(KeyRef{hash, &document.key}, std::move(made));
  return document;
}

std::optional<std::string> MemoryCollection::Insert(const Key& key, std::size_t hash,
                                                    locking::Entry&& entry) {
  Document& document = Add(key, hash, std::move(entry));
  if (!indexed_) return std::nullopt;
  std::optional<std::string> refusal;
  try {
    refusal = indexes_.Put(document, document.body);
  } catch (...) {
    Remove(document);
    throw;
  }
  if (refusal) Remove(document);
  return refusal;
}

std::optional<std::string> MemoryCollection::Replace(Document& document, locking::Entry& entry) {
  if (indexed_ && !entry.body.IsSameAs(document.body)) {
    if (auto refusal = indexes_.Put(document, entry.body)) return refusal;
  }
  std::swap(document.body, entry.body);
  document.lock = std::move(entry.lock);
  return std::nullopt;
}

std::unique_ptr<Document> MemoryCollection::Take(Document& document) noexcept {
  if (indexed_) indexes_.Remove(document);
  return Remove(document);
}

std::unique_ptr<Document> MemoryCollection::Remove(Document& document) noexcept {
  DocumentTable& documents = ShardOf(document.hash).documents;
  const auto at = documents.find(KeyRef{document.hash, &document.key});
  std::unique_ptr<Document> taken = std::move(at->second);
  documents.erase(at);
  return taken;
}

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
