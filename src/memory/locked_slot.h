#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "memory/memory_collection.h"

namespace doclock::memory {

/// What a write discards. Declared before the shard is locked, so that it is destroyed after the
/// mutex is free: destroying a large body takes a while.
struct Remains {
  Body body;
  std::unique_ptr<Document> document;
};

/// One key's slot in its collection, with the shard locked: the document, or none.
class LockedSlot {
 public:
  LockedSlot(MemoryCollection& collection, const Key& key, std::size_t hash)
      : collection_(collection),
        hash_(hash),
        shard_(collection.ShardOf(hash_)),
        guard_(shard_.mutex),
        document_(Find(key)) {}
  explicit LockedSlot(const StoreOp& op)
      : LockedSlot(static_cast<MemoryCollection&>(*op.collection), *op.key, op.hash) {}

  [[nodiscard]] Document* document() const noexcept { return document_; }

  /// Gives the document a body. `former` gets the old one, to be destroyed when the mutex is free.
  /// Returns the unique index that refuses it; then nothing has changed.
  std::optional<std::string> PutBody(const Body& body, Body& former) {
    return PutBodyOf(*document_, body, former);
  }

  /// Adds a document that does not exist yet, with its body; otherwise as above.
  std::optional<std::string> Insert(std::unique_ptr<Document> document, const Body& body) {
    Document& added = *document;
    const auto at = shard_.documents.emplace(KeyRef{hash_, &added.key}, std::move(document)).first;
    std::optional<std::string> refusal;
    try {
      Body none;
      refusal = PutBodyOf(added, body, none);
    } catch (...) {
      shard_.documents.erase(at);
      throw;
    }
    if (refusal) {
      shard_.documents.erase(at);
    } else {
      document_ = &added;
    }
    return refusal;
  }

  /// Takes the document out; destroy it when the mutex is free.
  std::unique_ptr<Document> Take() noexcept {
    if (collection_.indexed()) collection_.indexes().Remove(*document_);
    const auto at = shard_.documents.find(KeyRef{hash_, &document_->key});
    std::unique_ptr<Document> taken = std::move(at->second);
    shard_.documents.erase(at);
    document_ = nullptr;
    return taken;
  }

 private:
  [[nodiscard]] Document* Find(const Key& key) const noexcept {
    const auto at = shard_.documents.find(KeyRef{hash_, &key});
    return at == shard_.documents.end() ? nullptr : at->second.get();
  }

  std::optional<std::string> PutBodyOf(Document& document, const Body& body, Body& former) {
    if (collection_.indexed()) {
      std::optional<std::string> refusal = collection_.indexes().Put(document, body);
      if (refusal) return refusal;
    }
    former = std::move(document.body);
    document.body = body;
    return std::nullopt;
  }

  MemoryCollection& collection_;
  std::size_t hash_;
  Shard& shard_;
  std::lock_guard<std::mutex> guard_;
  Document* document_;
};

}  // namespace doclock::memory
