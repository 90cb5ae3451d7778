#include "memory/store_all.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "document/json/row_filter.h"
#include "memory/memory_collection.h"

namespace doclock::memory {
namespace {

using locking::Change;

/// First all that can fail: the indexes, and the places of new documents. That is taken back unless
/// the rest, which cannot fail, is done too. Searches do not see what is taken back: the indexes
/// are locked meanwhile, as the shards are.
class Storing {
 public:
  explicit Storing(std::span<Change> changes) : changes_(changes) {
    std::set<MemoryCollection*> collections;
    for (const Change& change : changes) collections.insert(&CollectionOf(change));
    // In the order of their addresses, so that two of these cannot wait for each other.
    for (MemoryCollection* const collection : collections) {
      Indexes* const indexes = collection->changing_indexes();
      if (indexes != nullptr) indexes_.try_emplace(collection, *indexes);
    }
    documents_.reserve(changes.size());
  }
  Storing(const Storing&) = delete;
  Storing& operator=(const Storing&) = delete;
  ~Storing() {
    indexes_.clear();
    for (std::size_t i = 0; i < documents_.size(); ++i) {
      if (changes_[i].was == nullptr) CollectionOf(changes_[i]).Remove(*documents_[i]);
    }
  }

  /// Returns the unique index that refuses the change.
  std::optional<std::string> Prepare(Change& change) {
    Document& document = *documents_.emplace_back(&PlaceOf(change));
    const auto indexes = indexes_.find(&CollectionOf(change));
    if (indexes == indexes_.end()) return std::nullopt;
    if (change.erased) {
      indexes->second.Remove(document);
      return std::nullopt;
    }
    return indexes->second.Put(document, change.was == nullptr ? document.body : change.now->body);
  }

  /// What is discarded stays in the changes, to be destroyed when the shards are free.
  void Keep() noexcept {
    for (auto& [collection, indexes] : indexes_) indexes.Keep();
    for (std::size_t i = 0; i < documents_.size(); ++i) {
      Change& change = changes_[i];
      if (change.erased) {
        *change.now = std::move(*CollectionOf(change).Remove(*documents_[i]));
      } else if (change.was != nullptr) {
        std::swap(static_cast<locking::Entry&>(*documents_[i]), *change.now);
      }
      change.outcome = OpStatus::kDone;
    }
    documents_.clear();
  }

 private:
  static Document& PlaceOf(Change& change) {
    if (change.was != nullptr) return DocumentOf(change);
    return CollectionOf(change).Add(*change.key, change.hash, std::move(*change.now));
  }

  const std::span<Change> changes_;
  std::map<MemoryCollection*, Indexes::Changes> indexes_;
  std::vector<Document*> documents_;  ///< Of the changes that are prepared.
};

}  // namespace

void StoreAll(std::span<Change> changes) {
  Storing storing(changes);
  for (Change& change : changes) {
    if (auto index = storing.Prepare(change)) return change.RefuseBy(*std::move(index));
  }
  storing.Keep();
}

}  // namespace doclock::memory
