#include "memory/memory_collection.h"

#include <algorithm>
#include <stdexcept>

namespace doclock::memory {
namespace {

bool IsField(const std::string& field) {
  return !field.empty() && field.front() != '.' && field.back() != '.' &&
         field.find("..") == std::string::npos;
}

}  // namespace

void MemoryCollection::EnsureIndex(const IndexSpec& spec) {
  if (spec.fields.empty() || !std::all_of(spec.fields.begin(), spec.fields.end(), IsField)) {
    throw std::invalid_argument("doclock: an index needs fields, and none may be empty");
  }
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(kShards);
  for (Shard& shard : shards_) locks.emplace_back(shard.mutex);
  if (indexes_.Has(spec)) return;
  std::vector<Document*> documents;
  for (Shard& shard : shards_) {
    shard.documents.ForEach([&](Document& document) { documents.push_back(&document); });
  }
  indexes_.Build(spec, documents);
  indexed_ = true;
}

}  // namespace doclock::memory
