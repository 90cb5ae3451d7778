#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "doclock/store.h"
#include "document/watchers.h"
#include "memory/document.h"
#include "memory/indexes.h"

namespace doclock::memory {

/// Some of a collection's documents, and the mutex that guards them. On cache lines of its own.
struct alignas(64) Shard {
  std::mutex mutex;
  Shard* locked_before = nullptr;  ///< See MemoryUnit::Lock.
  DocumentTable documents;

  /// Null: there is none.
  [[nodiscard]] Document* Find(const Key& key, std::size_t hash) const noexcept {
    const auto at = documents.find(KeyRef{hash, &key});
    return at == documents.end() ? nullptr : at->second.get();
  }
};

/// A collection of documents in memory. What touches a document needs the lock of its shard.
class MemoryCollection : public Collection {
 public:
  /// All are locked at once to build an index; ThreadSanitizer follows at most 64 locks of a
  /// thread.
  static constexpr std::size_t kShards = 32;

  MemoryCollection(std::string name, LockFieldNames fields, std::chrono::milliseconds default_ttl)
      : Collection(std::move(name), std::move(fields), default_ttl) {}

  /// Spread by multiplication: the hash of an integer may be the integer.
  [[nodiscard]] Shard& ShardOf(std::uint64_t hash) noexcept {
    return shards_[(hash * 0x9E3779B97F4A7C15U) >> 59];
  }
  [[nodiscard]] std::array<Shard, kShards>& shards() noexcept { return shards_; }
  [[nodiscard]] Watchers& watchers() noexcept { return *watchers_; }
  [[nodiscard]] const Indexes& indexes() const noexcept { return indexes_; }
  /// Are there indexes to maintain? Read it under a shard's mutex.
  [[nodiscard]] bool indexed() const noexcept { return indexed_; }

  /// Adds a document that is not there. Returns the unique index that refuses it; then nothing has
  /// changed.
  std::optional<std::string> Insert(const Key& key, std::size_t hash, locking::Entry&& entry);
  /// Gives the document another entry. `entry` gets the former body, which may take a while to
  /// destroy. Otherwise as above.
  std::optional<std::string> Replace(Document& document, locking::Entry& entry);
  /// Takes the document out.
  std::unique_ptr<Document> Take(Document& document) noexcept;

  // The same in steps, for several documents that are stored together.

  /// Null: there is no index. Stays so while a shard is locked.
  [[nodiscard]] Indexes* changing_indexes() noexcept { return indexed_ ? &indexes_ : nullptr; }
  /// Adds a document that is not there; it is in no index.
  Document& Add(const Key& key, std::size_t hash, locking::Entry&& entry);
  /// Takes out a document that is in no index any more.
  std::unique_ptr<Document> Remove(Document& document) noexcept;

  /// See Store::EnsureIndex. Locks the shards itself.
  void EnsureIndex(const IndexSpec& index);

 private:
  std::array<Shard, kShards> shards_;
  std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
  Indexes indexes_;
  bool indexed_ = false;  // written with all shards locked
};

inline MemoryCollection& CollectionOf(const locking::Change& change) noexcept {
  return static_cast<MemoryCollection&>(*change.collection);
}

/// Of a document that is there. The unit showed it as constant, and has its shard locked.
inline Document& DocumentOf(const locking::Change& change) noexcept {
  return const_cast<Document&>(static_cast<const Document&>(*change.was));
}

}  // namespace doclock::memory
