#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "doclock/store.h"
#include "document/watchers.h"
#include "memory/document.h"
#include "memory/indexes.h"

namespace doclock::memory {

/// Some of a collection's documents, and the mutex that guards them. On cache lines of its own.
struct alignas(64) Shard {
  std::mutex mutex;
  DocumentTable documents;
};

/// A collection of documents in memory.
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
  [[nodiscard]] Indexes& indexes() noexcept { return indexes_; }
  /// Are there indexes to maintain? Read it under a shard's mutex.
  [[nodiscard]] bool indexed() const noexcept { return indexed_; }

  /// See Store::EnsureIndex.
  void EnsureIndex(const IndexSpec& index);

 private:
  std::array<Shard, kShards> shards_;
  std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
  Indexes indexes_;
  bool indexed_ = false;  // written with all shards locked
};

}  // namespace doclock::memory
